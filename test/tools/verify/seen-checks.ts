import assert from 'node:assert/strict';
import sharp from 'sharp';
import { SPAN } from '../../../shared/base/telemetry.ts';
import { type Browser, findChromium, startBrowser, type Tab } from '../../fixture/browser.ts';
import { searchPath } from '../../fixture/environment.ts';
import { until } from '../../fixture/root.ts';
import { type Checked, checked, notRun, oneLine } from './check.ts';
import type { FoundSpan, Jaeger } from './jaeger.ts';
import { isCut, isOverflow, isToolTurn, namesIn, rowsOf, wrongIn } from './shown.ts';

/** A picture of a page of Jaeger's. */
export interface Picture {
  /** Its file among the pictures of the documents. */
  file: string;
  about: string;
  webp: Buffer;
}

/** What a browser was shown. */
export interface Seen {
  checks: readonly Checked[];
  pictures: readonly Picture[];
}

/** One kind of trace that people look at. */
interface Kind {
  about: string;
  file: string;
  /** The height of the screen that shows all of it. */
  height: number;
  /** An operation by which to search for it. */
  operation: string;
  is(spans: readonly FoundSpan[]): boolean;
  /** The names that a reader must find, besides those of every turn. */
  names: readonly string[];
  /** A line whose details are opened. */
  opens?: string;
}

const CHAT = 'anthropic.messages.create';
const TURN = [SPAN.receive, SPAN.turn, SPAN.open, SPAN.call, CHAT, SPAN.deliver, SPAN.settle];
const KINDS: readonly Kind[] = [
  {
    about: 'an overflow that went through both stages',
    file: 'jaeger-overflow.webp',
    height: 1_180,
    operation: SPAN.overflowNewSession,
    is: isOverflow,
    names: [
      SPAN.overflowDetected,
      SPAN.overflowCompacted,
      SPAN.overflowRecoveryFailed,
      SPAN.overflowRecovery,
      SPAN.overflowNewSession,
      SPAN.retryWait,
    ],
  },
  {
    about: 'a turn with tools',
    file: 'jaeger-tool.webp',
    height: 940,
    operation: 'execute_tool notebook__look',
    is: isToolTurn,
    names: ['execute_tool notebook__look', 'execute_tool notebook__fail', 'execute_tool unknown'],
    opens: '.span-name:has([aria-label="LLM call"]) .endpoint-name',
  },
  {
    about: 'a turn that a kill cut, and the next attempt',
    file: 'jaeger-cut.webp',
    height: 680,
    operation: SPAN.cut,
    is: isCut,
    names: [SPAN.cut, SPAN.started, 'execute_tool notebook__look'],
  },
];
const WIDTH = 1_400;
/** By how much the column of names is widened, so that they can be read. */
const WIDER = 150;
const TRACES = 300;
const DRAWN_MS = 20_000;
/** Of the page as a screen with twice the points shows it: 150 kB at most. */
const WEBP = { quality: 60, effort: 6 };

/**
 * Opens a trace of each kind in a browser, as somebody does who follows a link, and takes a picture. Never rejects. While the
 * browser runs, it is one of `running`.
 */
export async function checkSeen(
  jaeger: Jaeger | undefined,
  running: Set<{ abandon(): void }>,
  command = findChromium(searchPath()),
): Promise<Seen> {
  const browser = await open(jaeger, command).catch((error: Error) => `no page opens: ${oneLine(error.message)}`);
  if (jaeger === undefined || typeof browser === 'string')
    return { checks: KINDS.map((kind) => notRun(nameOf(kind), String(browser))), pictures: [] };
  const pictures: Picture[] = [];
  const checks: Checked[] = [];
  running.add(browser);
  for (const kind of KINDS)
    checks.push(await checked(nameOf(kind), async () => look(kind, jaeger, { browser, pictures })));
  await browser.close();
  running.delete(browser);
  return { checks, pictures };
}

const nameOf = ({ about }: Kind): string => `Jaeger shows ${about}: each line as what it is, and none hangs loose`;

/** A browser, or why there is nothing that it could show. */
async function open(jaeger: Jaeger | undefined, command: string | undefined): Promise<Browser | string> {
  if (jaeger === undefined) return 'Jaeger was not found';
  if (command === undefined) return 'Chromium was not found';
  return (await jaeger.hasPages()) ? startBrowser(command) : 'this Jaeger was built without its pages';
}

async function look(
  kind: Kind,
  jaeger: Jaeger,
  { browser, pictures }: { browser: Browser; pictures: Picture[] },
): Promise<string> {
  const found = (await jaeger.search('spillway', kind.operation, TRACES)).filter(kind.is);
  const [spans] = found.toSorted((one, other) => one.length - other.length);
  assert.ok(spans?.[0], 'the day has no such trace');
  const tab = await browser.tab({ script: true });
  await tab.setScreen(WIDTH, kind.height);
  await tab.open(`${jaeger.url}/trace/${spans[0].traceID}`);
  const rows = await untilShown(tab, `${spans.length} lines`, (html) => {
    const drawn = rowsOf(html);
    return drawn.length === spans.length ? drawn : undefined;
  });
  assert.deepEqual(wrongIn(rows, [...TURN, ...kind.names]), []);
  await makeReadable(tab, kind);
  pictures.push({
    ...kind,
    webp: await sharp(await tab.picture())
      .webp(WEBP)
      .toBuffer(),
  });
  return `${spans.length} lines with ${namesIn(spans).size} names`;
}

/** Widens the column of names, and opens the details of a line. */
async function makeReadable(tab: Tab, { opens }: Kind): Promise<void> {
  const narrow = /class="ub-relative span-name-column"[^>]*>/.exec(await tab.html())?.[0] ?? '';
  await tab.drag('.VerticalResizer--gripIcon', WIDER);
  await untilShown(tab, 'wider column', (html) => !html.includes(narrow) || undefined);
  if (opens === undefined) return;
  await tab.press(opens);
  await untilShown(tab, 'details', (html) => html.includes('GenAITab--tokens') || undefined);
}

function untilShown<T>(tab: Tab, what: string, find: (html: string) => T | undefined): Promise<T> {
  return until(what, async () => find(await tab.html()), DRAWN_MS);
}
