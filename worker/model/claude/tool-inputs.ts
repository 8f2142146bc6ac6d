import type Anthropic from '@anthropic-ai/sdk';
import { isFields } from '../../../shared/base/fields.ts';
import { clipMiddle } from '../../../shared/base/text.ts';
import type { Block } from '../block.ts';

/** Enough to see what went wrong. */
const SHOWN_CHARS = 2_000;

/** A call as it began, and what was written of its input. */
interface Written {
  readonly begun: Anthropic.ContentBlock;
  json: string;
}

/** What a model wrote, with the input of each call read. */
export interface ReadContent {
  content: readonly Block[];
  /** The ids of the calls whose input is no JSON object: it stands in the call as a text. */
  unreadable: readonly string[];
}

/**
 * The inputs of an answer's calls, while they are written. The SDK would parse each of them when it ends, and throw away
 * the whole answer because of one that is no JSON; so they are kept from it.
 */
export class ToolInputs {
  readonly #written = new Map<number, Written>();

  /** Takes an event, after the SDK has added it to `content`. */
  hear(event: Anthropic.RawMessageStreamEvent, content: Anthropic.ContentBlock[]): void {
    if (event.type === 'content_block_start' && event.content_block.type.endsWith('tool_use'))
      this.#written.set(event.index, { begun: event.content_block, json: '' });
    if (event.type !== 'content_block_delta' || event.delta.type !== 'input_json_delta') return;
    const written = this.#written.get(event.index);
    if (written === undefined) return;
    written.json += event.delta.partial_json;
    content[event.index] = { ...written.begun };
  }

  /** The content of the ended answer: copies, with their inputs. */
  readIn(content: readonly Anthropic.ContentBlock[]): ReadContent {
    const unreadable: string[] = [];
    const read = content.map((block, at): Block => {
      const json = this.#written.get(at)?.json ?? '';
      if (json === '') return { ...block } as unknown as Block;
      const input = objectIn(json);
      if (input === undefined && block.type === 'tool_use') unreadable.push(block.id);
      return { ...block, input: input ?? { unreadable: clipMiddle(json, SHOWN_CHARS) } } as unknown as Block;
    });
    return { content: read, unreadable };
  }
}

function objectIn(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
