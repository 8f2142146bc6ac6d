/** What a person asked: the n-th question of a chat. */
export interface Asked {
  chat: number;
  n: number;
}

/** A message that stands in a chat at the end. */
export interface Shown {
  chat: number;
  messageId: number;
  text: string;
}

/** What became of the questions. */
export interface Verdict {
  asked: number;
  answered: number;
  /** Not answered, but the chat was told so. */
  told: number;
  /** Nobody said anything. */
  silent: number;
  /** Answers that stand there once more. */
  doubled: number;
  /** Answers behind the answer to a later question of their chat. */
  reordered: number;
}

/** The words by which a question is found in its answer. */
export const markOf = ({ chat, n }: Asked): string => `[${chat}/${n}]`;

/** Reads the chats as their users do. Pure. */
export function judge(asked: readonly Asked[], shown: readonly Shown[]): Verdict {
  const answersTo = (one: Asked): Shown[] => {
    const mark = markOf(one);
    return shown.filter(({ chat, text }) => chat === one.chat && text.includes(mark));
  };
  const found = asked.map((one) => ({ ...one, answers: answersTo(one) }));
  const answered = found.filter(({ answers }) => answers.length > 0);
  const isAnswer = ({ chat, text }: Shown): boolean =>
    asked.some((one) => one.chat === chat && text.includes(markOf(one)));
  const others = shown.filter((each) => !isAnswer(each)).length;
  const told = Math.min(asked.length - answered.length, others);
  return {
    asked: asked.length,
    answered: answered.length,
    told,
    silent: asked.length - answered.length - told,
    doubled: answered.reduce((sum, { answers }) => sum + answers.length - 1, 0),
    reordered: answered.filter((one) => answered.some((other) => isBefore(other, one))).length,
  };
}

interface Answered extends Asked {
  answers: readonly Shown[];
}

/** Whether the answer to a later question of the same chat stands before the answer to this one. */
function isBefore(later: Answered, one: Answered): boolean {
  const firstOf = ({ answers }: Answered): number => Math.min(...answers.map(({ messageId }) => messageId));
  return later.chat === one.chat && later.n > one.n && firstOf(later) < firstOf(one);
}
