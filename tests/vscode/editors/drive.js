// Drives one page of a headless Chromium: a JSON command a line on stdin, a JSON answer a line on stdout.
"use strict";

const readline = require("node:readline");
const puppeteer = require("puppeteer-core");

async function until(page, seconds, selector, pattern, look) {
  const found = await page.waitForFunction(look, { timeout: seconds * 1000, polling: 50 }, selector, pattern);
  return found.jsonValue();
}

const commands = {
  goto: (page, { url }) => page.goto(url, { waitUntil: "domcontentloaded" }),
  press: async (page, { keys }) => {
    for (const key of keys.slice(0, -1)) await page.keyboard.down(key);
    await page.keyboard.press(keys[keys.length - 1]);
    for (const key of keys.slice(0, -1).reverse()) await page.keyboard.up(key);
  },
  type: (page, { text }) => page.keyboard.type(text),
  // Waits until an element of the selector has a text that matches the pattern; answers with all their texts.
  wait: (page, { selector, pattern, seconds }) =>
    until(page, seconds, selector, pattern, (selector, pattern) => {
      const texts = [...document.querySelectorAll(selector)].map((each) => each.innerText);
      return texts.some((text) => new RegExp(pattern).test(text)) ? texts : null;
    }),
  // The same for the rows of a list, from top to bottom, as one text with a line a row.
  waitRows: (page, { selector, pattern, seconds }) =>
    until(page, seconds, selector, pattern, (selector, pattern) => {
      const found = [...document.querySelectorAll(selector)];
      const index = (row) => Number(row.getAttribute("data-index"));
      const rows = found.sort((a, b) => index(a) - index(b)).map((row) => row.innerText.replace(/\s+/g, " ").trim());
      return new RegExp(pattern).test(rows.join("\n")) ? rows : null;
    }),
  // Waits until no element of the selector has a text that matches.
  gone: (page, { selector, pattern, seconds }) =>
    page
      .waitForFunction(
        (selector, pattern) =>
          ![...document.querySelectorAll(selector)].some((each) => new RegExp(pattern).test(each.innerText)),
        { timeout: seconds * 1000, polling: 50 },
        selector,
        pattern,
      )
      .then(() => true),
  click: async (page, { selector, pattern, count, offset }) => {
    for (const element of await page.$$(selector)) {
      const text = await element.evaluate((each) => each.innerText);
      if (new RegExp(pattern).test(text)) {
        await element.click({ count, ...(offset ? { offset } : {}) });
        return text;
      }
    }
    throw new Error(`nothing of ${selector} matches ${pattern}`);
  },
  screenshot: (page, { path }) => page.screenshot({ path }).then(() => path),
};

async function main() {
  const [executablePath, userDataDir] = process.argv.slice(2);
  const browser = await puppeteer.launch({
    executablePath,
    userDataDir,
    headless: true,
    defaultViewport: { width: 1600, height: 1000 },
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  const page = await browser.newPage();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { does, ...given } = JSON.parse(line);
    let answer;
    try {
      answer = { value: (await commands[does](page, given)) ?? null };
      if (does === "goto") answer = { value: null };
    } catch (error) {
      answer = { error: String(error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  await browser.close();
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
