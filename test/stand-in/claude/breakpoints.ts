/** Cache breakpoints (rule 14). A look-back of more than 20 blocks is no error but a miss: see `cache.ts`. */

import { type Block, isObject, type MessagesRequest, nestedBlocks } from './request.ts';
import { type Segment, segmentsOf } from './segments.ts';
import { firstOf, type Violation, violation } from './violation.ts';

const BREAKPOINTS_MAX = 4;

function checkMarked(request: MessagesRequest): Violation | undefined {
  const contents = [request.system ?? [], ...request.messages.map(({ content }) => content)];
  const blocks = contents.flatMap((content) => (typeof content === 'string' ? [] : content));
  const all: Record<string, unknown>[] = [
    ...(request.tools ?? []),
    ...blocks.flatMap((block) => [block, ...nestedBlocks(block)]),
    { cache_control: request.cache_control },
  ];
  const marked = all.filter((each) => isObject(each.cache_control));
  if (marked.length > BREAKPOINTS_MAX) {
    return violation(14, `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`);
  }
  return marked.some((each) => (each as Block).type === 'text' && String(each.text).trim() === '')
    ? violation(14, 'messages: cache_control cannot be set for empty text blocks')
    : undefined;
}

function pathOf({ role, messageIndex, blockIndex }: Segment): string {
  return messageIndex < 0 ? `${role}.${blockIndex}` : `messages.${messageIndex}.content.${blockIndex}`;
}

/** What is kept for an hour stands before what is kept for five minutes. */
function checkLifetimes(request: MessagesRequest): Violation | undefined {
  const marked = segmentsOf(request).filter(({ breakpoint }) => breakpoint);
  const firstShort = marked.findIndex(({ lifetime }) => lifetime === '5m');
  const late = marked.find(({ lifetime }, at) => lifetime === '1h' && firstShort >= 0 && at > firstShort);
  return (
    late &&
    violation(
      14,
      `${pathOf(late)}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`,
    )
  );
}

/** Rule 14: how many breakpoints there are, on what, and in which order of their lifetimes. */
export function checkBreakpoints(request: MessagesRequest): Violation | undefined {
  return firstOf([checkMarked, checkLifetimes], (check) => check(request));
}
