// The commands of README and docs, typed one after the other, page by page, by a reader whose daemon runs beside a broker.
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startChild } from '../support/child.ts';
import { docCommands, pages, RUN } from '../support/docCommands.ts';
import { STATE } from '../support/homes.ts';
import { ENTRY, openHomeWithBroker } from './program.ts';

const commands = docCommands().filter(({ command }) => RUN.test(command));
const withCommands = pages().filter((page) => commands.some(({ file }) => file === page));

/** Beside the program: clients of the broker that find the one of this test, and listeners that come to an end. */
const standIns = (port: number): Readonly<Record<string, string>> => ({
  heat2mqtt: `case "\${1:-run}" in run|demo) exec timeout --preserve-status -s TERM 6 '${process.execPath}' '${ENTRY}' "$@";; esac
exec '${process.execPath}' '${ENTRY}' "$@"`,
  mosquitto_pub: client('mosquitto_pub', port, ''),
  mosquitto_sub: client('mosquitto_sub', port, '-W 3'),
});

const client = (name: string, port: number, more: string) => `rest=()
while [ $# -gt 0 ]; do case "$1" in -h|-p) shift 2;; *) rest+=("$1"); shift;; esac; done
code=0; PATH=\${PATH#*:} ${name} -h 127.0.0.1 -p ${port} ${more} "\${rest[@]}" || code=$?
[ $code -eq 27 ] || exit $code`;

test.each(withCommands)(
  '%s',
  async (page) => {
    const home = await openHomeWithBroker();
    const probe = await home.listen();
    const config = await home.configure({
      constituencies: { base_url: home.simulator.urls.constituencies },
    });
    home.start(config);
    await probe.until(STATE, () => true);

    const bin = join(home.folder, 'bin');
    await mkdir(bin);
    for (const [name, script] of Object.entries(standIns(home.broker.port))) {
      await writeFile(join(bin, name), `#!/bin/bash\n${script}\n`);
      await chmod(join(bin, name), 0o755);
    }
    const { PATH = '' } = process.env;
    const env = { PATH: `${bin}:${PATH}`, HOME: home.folder };
    for (const { file, line, command } of commands.filter((one) => one.file === page)) {
      const typed = startChild('bash', ['-euo', 'pipefail', '-c', command], { cwd: home.folder, env });
      const code = await home.stack.use(typed).exited;
      const told = `${typed.output}\n${typed.errors}`.slice(-1_000);
      expect({ file, line, command, code, told }).toMatchObject({ code: 0 });
    }
  },
  120_000,
);
