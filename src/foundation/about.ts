// The name, version and address of the program, from package.json alone.
import manifest from '../../package.json' with { type: 'json' };

export const about = {
  name: manifest.name,
  version: manifest.version,
  url: manifest.homepage,
  userAgent: `${manifest.name}/${manifest.version} (+${manifest.homepage})`,
};
