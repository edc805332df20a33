// Snapshots by the library of @playwright/mcp, in this process.

import { createRequire } from 'node:module';
import { serve, setting, timed } from './lines.mjs';

const { chromium } = createRequire(setting.packages + '/')('playwright-core');
const browser = await chromium.launch({
    executablePath: setting.chrome,
    headless: true,
    chromiumSandbox: setting.sandbox,
    args: setting.args,
});
const page = await browser.newPage({ viewport: { width: setting.width, height: setting.height } });

// Older versions have the option under another name, for their own server only.
const take = page.ariaSnapshot
    ? () => page.ariaSnapshot({ mode: 'ai' })
    : async () => {
          const taken = await page._snapshotForAI();
          return taken.full ?? taken;
      };

await serve(
    {
        open: async ({ url }) => void (await page.goto(url, { waitUntil: 'load' })),
        script: async ({ script }) => ({ text: String(await page.evaluate(script)) }),
        snapshot: async () => {
            const { ms, value } = await timed(take);
            return { ms, text: value };
        },
    },
    () => browser.close(),
);
