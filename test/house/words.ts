import { read, sourcesIn } from './sources.ts';

/** The start of a line of a comment. */
const COMMENT = /^\s*(?:\/\*\*?|\*|\/\/|--)\s?(.*)$/;
const WHAT_FIRST = /^(?:What|Whoever)\b/;
const WHAT_IS = /\bwhat (?:is|was|it|nobody|are|were|they|he|she|has|had|a|the|no)\b/i;
const PASSIVE = /\b(?:is|are|was|were|be|been|being) (?:\w+ )?(?:told|said|kept|left|taken|shown)\b/i;
/** A variable or a parameter. */
const DECLARED = /\b(?:const|let) (\w+)\b|[({,] ?(\w+): /g;
const PARTICIPLES = new Set(
  'told kept shown asked said taken owed paid left given held known heard meant seen begun gone noted stated named wanted sent made refused learnt'.split(
    ' ',
  ),
);

/** How often the product uses words that a newcomer stumbles over. */
export function measureWords(): Record<
  'commentsWithWhatFirst' | 'commentsWithWhatIs' | 'passives' | 'participles',
  number
> {
  const files = ['producer', 'worker', 'shared', 'setup', 'scripts'].flatMap((folder) =>
    sourcesIn(folder, /\.(?:ts|lua|mjs)$/),
  );
  const lines = files.flatMap((file) => read(file).split('\n'));
  const comments = lines.flatMap((line) => COMMENT.exec(line)?.[1] ?? []);
  const names = lines
    .filter((line) => !COMMENT.test(line))
    .flatMap((line) => [...line.matchAll(DECLARED)].map(([, variable, parameter]) => variable ?? parameter ?? ''));
  const count = (pattern: RegExp) => comments.filter((comment) => pattern.test(comment)).length;
  return {
    commentsWithWhatFirst: count(WHAT_FIRST),
    commentsWithWhatIs: count(WHAT_IS),
    passives: count(PASSIVE),
    participles: names.filter((name) => PARTICIPLES.has(name)).length,
  };
}
