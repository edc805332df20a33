// Protocol of the drivers: requests are JSON lines on standard input, replies JSON lines on standard output, in order.
//
//   {"id": 1, "do": "open", "url": "…"}         {"id": 1}
//   {"id": 2, "do": "script", "script": "…"}    {"id": 2, "text": "…"}
//   {"id": 3, "do": "snapshot"}                 {"id": 3, "ms": 12.3, "text": "…"}
//   any failure                                 {"id": 4, "error": "…"}
//
// The time is measured inside this process, around the call alone. The program ends with its input.

import { createInterface } from 'node:readline';

/** Start options: `packages`, `chrome`, `args`, `sandbox`, `width`, `height`. */
export const setting = JSON.parse(process.argv[2]);

/** Time and result of a call. */
export async function timed(call) {
    const began = performance.now();
    const value = await call();
    return { ms: performance.now() - began, value };
}

/** Serves commands until the input ends, then runs `close`. */
export async function serve(commands, close) {
    for await (const line of createInterface({ input: process.stdin })) {
        const command = JSON.parse(line);
        let answer;
        try {
            answer = (await commands[command.do](command)) ?? {};
        } catch (error) {
            answer = { error: String(error?.message ?? error) };
        }
        process.stdout.write(JSON.stringify({ id: command.id, ...answer }) + '\n');
    }
    await close();
}
