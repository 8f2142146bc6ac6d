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
 * Turns a tool's output into a block of the request. Cuts a long text, and adds how long the whole text is and how to read the
 * rest. Resizes pictures to fit. Stores pictures, audio and the whole of a cut text outside the log. The returned events belong
 * to the write that stores the block. Contract: rejects if Redis or the blob store is unavailable, or if no decoder can be
 * started; any fault of the output becomes text.
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
  const shortText = isCut ? await cut(turn, text) : text;
  const words: Block[] = isBlank(shortText) ? [] : [{ type: 'text', text: shortText }];
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

/**
 * The blocks for one picture or recording. A usable picture is followed by the reference with which `send_file` sends it. Text
 * replaces audio, unusable pictures, pictures in an error (an error may contain none), and every piece after the first 8.
 */
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
  const fitting = await fitPicture(bytes);
  if (!fitting.ok) return [textBlock(`[a picture of ${bytes.length} bytes, left out: ${fitting.why}]`)];
  const { bytes: picture, mediaType, width, height } = fitting;
  const sha256 = await media.keep(currentChat, picture);
  const source = { type: 'kept', sha256, media_type: mediaType, bytes: picture.length, width, height };
  const block = { type: 'image', source };
  if (isError) return [textBlock(`[${labelWithRef(block)}]`)];
  return [block, textBlock(`[the tool "send_file" sends this ${mediaType} with {"ref":"${sha256}"}]`)];
}
