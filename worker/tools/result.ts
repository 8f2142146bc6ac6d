import { graphemePrefix, isBlank } from '../../shared/base/text.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import type { TurnEvent } from '../lane/events.ts';
import { fitPicture } from '../media/decoding.ts';
import { labelWithRef } from '../media/label.ts';
import { type Block, textBlock } from '../model/block.ts';
import type { ToolOutput, ToolPart } from './toolbox.ts';

const MEDIA_MAX = 8;
const NOTHING = '(no output)';

/**
 * A tool's output as a block of the request: its text cut to what may be sent, with a marker that states the full size
 * and how to read on; its pictures resized to fit, its audio as it is, both stored outside the log. The commands belong to
 * the write that stores the block. Contract: rejects when Redis cannot be reached; any fault of the output becomes text.
 */
export async function resultBlock(
  turn: Turn<Env>,
  callId: string,
  { parts: pieces, files = [], isError }: ToolOutput,
): Promise<{ block: Block; events: TurnEvent[] }> {
  const text = pieces
    .flatMap((piece) => (piece.type === 'text' ? [piece.text] : []))
    .join('\n')
    .toWellFormed();
  const media = await Promise.all(pieces.filter(isMedia).map((piece, at) => mediaBlocks(turn, piece, { at, isError })));
  const isCut = text.length > turn.env.settings.TOOL_RESULT_MAX_CHARS;
  const shown = isCut ? await cut(turn, text) : text;
  const words: Block[] = isBlank(shown) ? [] : [{ type: 'text', text: shown }];
  const content = [...words, ...media.flat(), ...files];
  return {
    block: {
      type: 'tool_result',
      tool_use_id: callId,
      content: content.length === 0 ? NOTHING : content,
      ...(isError && { is_error: true }),
    },
    events: isCut ? [{ event: 'message.capped', kind: 'tool_result', chars: text.length }] : [],
  };
}

type Media = Exclude<ToolPart, { type: 'text' }>;

function isMedia(piece: ToolPart): piece is Media {
  return piece.type !== 'text';
}

async function cut({ currentChat, env: { settings, media } }: Turn<Env>, text: string): Promise<string> {
  const ref = await media.keep(currentChat, Buffer.from(text));
  const head = graphemePrefix(text, settings.TOOL_RESULT_MAX_CHARS);
  return `${head}\n[result cut: ${text.length} characters in all; the tool "recall" reads on with {"ref":"${ref}","from":${head.length}}]`;
}

/** A picture, and behind it the reference under which `send_file` finds it. An error may only name it, as audio is named. */
async function mediaBlocks(
  { currentChat, env: { media } }: Turn<Env>,
  piece: Media,
  { at, isError }: { at: number; isError: boolean },
): Promise<Block[]> {
  const { bytes } = piece;
  if (at >= MEDIA_MAX) return [textBlock('[a picture or audio, left out: too many in one result]')];
  if (piece.type === 'audio') {
    const ref = await media.keep(currentChat, bytes);
    const what = `audio, ${piece.mimeType}, ${bytes.length} bytes`;
    return [textBlock(`[${what}; the tool "send_file" sends it with {"ref":"${ref}"}]`)];
  }
  const fitted = await fitPicture(bytes);
  if (!fitted.ok) return [textBlock(`[a picture of ${bytes.length} bytes, left out: ${fitted.why}]`)];
  const { bytes: kept, mediaType, width, height } = fitted;
  const sha256 = await media.keep(currentChat, kept);
  const source = { type: 'kept', sha256, media_type: mediaType, bytes: kept.length, width, height };
  const picture = { type: 'image', source };
  if (isError) return [textBlock(`[${labelWithRef(picture)}]`)];
  return [picture, textBlock(`[the tool "send_file" sends this ${mediaType} with {"ref":"${sha256}"}]`)];
}
