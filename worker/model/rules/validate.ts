import { isFields } from '../../../shared/base/fields.ts';
import { Draft, type Note } from './draft.ts';
import { type RequestFacts, RULES, type RuleName, type WireRequest } from './rules.ts';

/** One place where a request violates a rule. It holds nothing of what people or models wrote. */
export interface Violation {
  rule: RuleName;
  /** Where, such as `messages.3.content.1`; empty for the request as a whole. */
  path: string;
  problem: string;
}

const FIXES = new Set(Object.values(RULES).map(({ fix }) => fix));

/**
 * Every violation that a request alone shows. Empty means that the API takes the request. Each fix of the table looks
 * at the request as it came, so that none hides what another one would find. Thinking is judged by its seal and its
 * place: whether something before it was edited cannot be seen here, and `repairRequest` answers for its own edits.
 * Pure, total, and linear in the request's size.
 */
export function findViolations(request: WireRequest, facts: RequestFacts): Violation[] {
  if (!isFields(request)) return [violation({ rule: 'unicode-whole', path: '' })];
  let draft = new Draft(request);
  const found = [...draft.notes];
  const read = found.length;
  for (const fix of FIXES) {
    fix(draft, facts);
    if (draft.notes.length === read) continue;
    found.push(...draft.notes.slice(read));
    draft = new Draft(request);
  }
  return found.map(violation);
}

function violation({ rule, path, problem = `not so: ${RULES[rule].demands}` }: Note): Violation {
  return { rule, path, problem };
}
