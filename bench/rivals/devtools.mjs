// Snapshots by the Puppeteer of chrome-devtools-mcp, in this process: the call behind its `take_snapshot`,
// without rendering the text.

import { pathToFileURL } from 'node:url';
import { serve, setting, timed } from './lines.mjs';

const bundle = setting.packages + '/chrome-devtools-mcp/build/src/third_party/index.js';
const { puppeteer } = await import(pathToFileURL(bundle).href);
const browser = await puppeteer.launch({
    executablePath: setting.chrome,
    headless: true,
    pipe: true,
    defaultViewport: { width: setting.width, height: setting.height },
    args: setting.sandbox ? setting.args : [...setting.args, '--no-sandbox'],
});
const [page] = await browser.pages();

await serve(
    {
        open: async ({ url }) => void (await page.goto(url, { waitUntil: 'load' })),
        script: async ({ script }) => ({ text: String(await page.evaluate(script)) }),
        snapshot: async () => {
            const { ms, value } = await timed(() => page.accessibility.snapshot({ includeIframes: true }));
            return { ms, text: JSON.stringify(value) };
        },
    },
    () => browser.close(),
);
