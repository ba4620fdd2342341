// The languages, a plain file for each: which there are, and which one a reader gets.
import de from './languages/de.json' with { type: 'json' };
import en from './languages/en.json' with { type: 'json' };
import ga from './languages/ga.json' with { type: 'json' };

export type Language = 'en' | 'ga' | 'de';

export const WORDS: Readonly<Record<Language, typeof en>> = { en, ga, de };

export type PageWords = Readonly<ReturnType<typeof pageWords>>;

/** The language as the page in the browser gets it. */
export const pageWords = (language: Language) => ({
  language,
  /** The language is written so if the browser has no region for it. */
  locale: LOCALES[language],
  words: WORDS[language].page,
  dates: WORDS[language].dates,
});

export const LOCALES: Readonly<Record<Language, string>> = { en: 'en-IE', ga: 'ga-IE', de: 'de-DE' };

const isLanguage = (name: string): name is Language => Object.hasOwn(WORDS, name);

/** The language of readers who name none of their own: a shell, Home Assistant. `configured`: the key `language`. */
export const homeLanguage = (configured: Language | 'auto'): Language =>
  configured === 'auto' ? 'en' : configured;

/** The language of a visitor of the page: by itself the first of `header` (`Accept-Language`) that there is, else English. */
export function visitorsLanguage(configured: Language | 'auto', header: string): Language {
  if (configured !== 'auto') return configured;
  const wanted = header
    .split(',')
    .map((choice) => {
      const [tag = '', ...parameters] = choice.trim().toLowerCase().split(';');
      const quality = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
      return { name: tag.split('-')[0] ?? '', quality: Number(quality ?? 1) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((one, other) => other.quality - one.quality);
  return wanted.map(({ name }) => name).find(isLanguage) ?? 'en';
}
