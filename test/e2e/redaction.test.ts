// A crash tells where, and not whose: the built program dies of a fault that quotes every secret it knows.
import { expect, test } from 'vitest';
import { expectSilence } from '../support/canaries.ts';
import { ME, openHome, run } from './program.ts';

const JWT = 'eyJhbGciOiJub25lIn0xx.eyJzdWIiOiJjYW5hcnkifQxx.c2lnbmF0dXJl';

test.each(['throw', 'reject'])(
  'an unexpected fault (%s) ends the program with its stack, and no secret',
  async (how) => {
    const home = await openHome();
    const path = await home.configure({ mqtt: { embedded: { port: 0 } }, http: false });
    const words = JSON.stringify(
      `quoting ${ME.username} ${ME.password} ${encodeURIComponent(ME.password)} ${JWT}`,
    );
    const fault = `new TypeError(${words})`;
    const code = how === 'throw' ? `throw ${fault}` : `void Promise.reject(${fault})`;
    // At its first poll, when it knows every secret.
    const onPoll = `const { stdout } = process;
      const write = stdout.write.bind(stdout);
      stdout.write = (text) => {
        if (String(text).includes('"polled"')) setTimeout(() => { ${code} });
        return write(text);
      };`;
    const inject = `data:text/javascript,${encodeURIComponent(onPoll)}`;
    const program = home.stack.use(
      run(['run', '--config', path], { env: { NODE_OPTIONS: `--import=${inject}` } }),
    );
    expect(await program.exited).toBe(1);
    const all = program.output + program.errors;
    expect(all).toContain('unexpected fault: exiting');
    expect(all).toContain('"type":"TypeError"');
    expectSilence([all], [ME.username, ME.password, JWT]);
  },
);
