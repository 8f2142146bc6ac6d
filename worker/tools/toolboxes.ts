import { type ChatSettings, hasTool } from '../../shared/state/chat/chat-settings.ts';
import { type OmittedTool, type Toolbox, type ToolSpec, toolError } from './toolbox.ts';

/** Creates a function that returns its previous array if the new one has the same items in the same order. */
function steadyList<Item>(): (now: readonly Item[]) => readonly Item[] {
  let before: readonly Item[] = [];
  return (now) => {
    const isSame = now.length === before.length && now.every((item, at) => item === before[at]);
    if (!isSame) before = now;
    return before;
  };
}

/**
 * Joins several toolboxes. Of two tools with the same name, the first one counts. The tools of the gateway come first in
 * `boxes`, so no MCP server can replace one. `specs` returns the same array while the tools are the same.
 */
export function joinToolboxes(boxes: readonly Toolbox[]): Toolbox {
  const steady = steadyList<ToolSpec>();
  const owners = (): Map<string, { box: Toolbox; spec: ToolSpec }> => {
    const found = new Map<string, { box: Toolbox; spec: ToolSpec }>();
    for (const box of boxes)
      for (const spec of box.specs()) if (!found.has(spec.name)) found.set(spec.name, { box, spec });
    return found;
  };
  return {
    specs: () => steady([...owners().values()].map(({ spec }) => spec)),
    async call(call, signal) {
      const owner = owners().get(call.name);
      return owner ? owner.box.call(call, signal) : toolError(`There is no tool of the name ${call.name}.`);
    },
  };
}

/** Removes tools from a toolbox. */
export interface Exclusions {
  /**
   * Removes a tool until the process ends: the model no longer gets the tool, and a call of it returns an error text. Returns
   * false, and does nothing, if there is no such tool, e.g. after an earlier removal. Idempotent.
   */
  exclude(name: string, why: string): boolean;
  /** The removed tools, in the order of their removal. */
  excluded(): readonly OmittedTool[];
}

/**
 * Adds exclusions to a toolbox, for tools that the model's API names when it refuses a request. `specs` keeps the order, and
 * returns the same array while the tools are the same.
 */
export function withExclusions<Box extends Toolbox>(box: Box): Box & Exclusions {
  const excluded = new Map<string, string>();
  const steady = steadyList<ToolSpec>();
  const specs = () => steady(box.specs().filter(({ name }) => !excluded.has(name)));
  return {
    ...box,
    specs,
    async call(call, signal) {
      if (excluded.has(call.name)) return toolError('This tool is not available any more. Go on without it.');
      return box.call(call, signal);
    },
    exclude(name, why) {
      if (!specs().some((spec) => spec.name === name)) return false;
      excluded.set(name, why);
      return true;
    },
    excluded: () => [...excluded].map(([tool, why]) => ({ tool, why })),
  };
}

const NOT_PERMITTED = 'Only people on the allow list may use this tool in this group. Tell the person so.';
const NOT_HERE = 'This chat does not have this tool. Go on without it.';

/**
 * The tools for guests of a group: only those of MCP servers whose configuration has `"guests": true`. A call of any other tool
 * returns an error, even if the model knows the tool from an earlier message.
 */
export function forGuests<Box extends Toolbox>(box: Box): Box {
  return restrict(box, ({ isForGuests }) => isForGuests === true, NOT_PERMITTED);
}

/**
 * The tools for a summons, whose quoted text anybody may have written: those tools of MCP servers with `"guests": true` that
 * only read and never ask, and `recall`, which then searches only the conversation of this person's summonses in the same chat.
 * A call of any other tool returns an error.
 */
export function forSummons<Box extends Toolbox>(box: Box): Box {
  const isHarmless = ({ onlyReads, isForGuests, isForSummons, asks }: ToolSpec) =>
    onlyReads === true && (isForGuests === true || isForSummons === true) && !asks;
  return restrict(box, isHarmless, NOT_HERE);
}

/** The tools that the settings of a chat list; without a list, all tools. A call of any other tool returns an error. */
export function forChat<Box extends Toolbox>(box: Box, chat: ChatSettings): Box {
  return chat.tools === undefined ? box : restrict(box, ({ name }) => hasTool(chat, name), NOT_HERE);
}

function restrict<Box extends Toolbox>(box: Box, isIncluded: (spec: ToolSpec) => boolean, refusal: string): Box {
  const steady = steadyList<ToolSpec>();
  return {
    ...box,
    specs: () => steady(box.specs().filter(isIncluded)),
    async call(call, signal) {
      const isBarred = box.specs().some((spec) => spec.name === call.name && !isIncluded(spec));
      return isBarred ? toolError(refusal) : box.call(call, signal);
    },
  };
}
