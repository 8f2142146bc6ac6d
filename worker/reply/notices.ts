/** Every text that a user reads besides answers: plain sentences, without a provider's words, numbers or internals. */
export const NOTICE = {
  freshSession:
    'Our conversation had grown too large for the model, so I continue in a fresh session with a short summary of it.',
  freshAfterPoison:
    'The model did not accept our conversation any more, so I continue in a fresh session with a short summary of it.',
  bareAfterPoison:
    'The model did not accept our conversation any more, so I continue in a fresh session, without it. It is kept and can be searched.',
  endlessThought:
    'I could not finish thinking about this message within my limits. Please ask in smaller steps. You can go on writing here.',
  waiting: 'The model cannot be reached just now. Your message is kept and waits; there is no need to send it again.',
  repeat: '↻ The connection broke while I was sending this, so it may be a repeat:',
  scrubbed: 'Your message was too large for the model; I read only its beginning and its end.',
  gaveUp:
    'I could not answer this message: it is too large for the model, even in a fresh session. Please send it in smaller parts. You can go on writing here.',
  notTaken:
    'I could not answer this message: the model does not accept it, even in a fresh session. The operator has been notified. You can go on writing here.',
  unreadable: 'I could not read this message. The operator has been notified. Please send it again.',
  fileAway:
    'I could not get your file from Telegram. The operator has been notified. Please send it again in a few minutes.',
  unavailable:
    'I could not get an answer from the model just now. The operator has been notified. Please try again in a few minutes.',
  misconfigured: 'I cannot answer at the moment. The operator has been notified.',
  chatBudget: 'The budget of this chat is used up for today. It starts again at midnight, UTC.',
  totalBudget: 'My budget is used up for today. It starts again at midnight, UTC.',
  declined: 'The model declined to answer this message. You can go on with another one.',
  nothingToAdd: 'Done. There is nothing to add.',
  cutAnswer: '[The answer was cut at its length limit. Ask me to go on.]',
  newConversation: 'A new conversation starts here. The old one is kept.',
  notPermitted: 'Only people on my allow list can do this in a group.',
  stoppedHere: '⏹ Stopped here.',
  stopped: 'Stopped. I will not answer what you wrote before this.',
  nothingToStop: 'There was nothing to stop.',
  help: 'Write to me and I answer.\n/stop ends what I am working on and what is waiting.\n/new does the same and starts a new conversation; the old one is kept.\n/help shows this.',
} as const;

/** The notice for messages that were not accepted because too many others waited. */
export function laneFull(count: number): string {
  const [which, them] = count === 1 ? ['this one', 'it'] : [`${count} of them`, 'them'];
  return `Too many of your messages are waiting, so I did not take ${which}. Please send ${them} again when I have caught up.`;
}

const LEFT_OUT_NAMED_MAX = 5;

/** The notice for a message that holds no text. `what` is Telegram's name for its kind. */
export function unsupportedKind(what: string): string {
  return `I cannot read this kind of message yet (${what.replaceAll('_', ' ')}). I can read text, photos, PDF files and text files.`;
}

/** Why a user's file cannot be shown to the model. */
export type FileProblem = keyof typeof FILE_PROBLEM;

const FILE_PROBLEM = {
  empty: 'it is empty.',
  other_kind: 'I can read only pictures, PDF files and text files in UTF-8.',
  picture_format: 'I do not know this picture format. Please send it as a photo, or as JPEG or PNG.',
  broken_picture: 'the picture is damaged. Please send it again.',
  huge_picture: 'the picture has too many pixels. Please send a smaller one.',
  broken_pdf: 'the PDF is damaged. Please save it again and send that.',
  locked_pdf: 'the PDF is protected with a password. Please send one without.',
  too_many_pages: 'the PDF has too many pages. Please send only those that matter.',
  too_slow: 'it takes me too long to open. Please send a simpler one.',
  too_large: 'it is larger than 20 MB. Please send a smaller one.',
  not_downloaded: 'it could not be downloaded from Telegram. Please send it again.',
} as const;

/** The notice for a file that cannot be read. `name` is the file's, where it has one. */
export function unreadableFile(why: FileProblem, name?: string): string {
  return `I could not read ${name ? `the file "${name}"` : 'this file'}: ${FILE_PROBLEM[why]}`;
}

/** The notice that parts of a conversation are no longer shown to the model. */
export function removedNotice(names: readonly string[]): string {
  const different = [...new Set(names)];
  const named = different.slice(0, LEFT_OUT_NAMED_MAX).join(', ');
  const more = different.length > LEFT_OUT_NAMED_MAX ? ' and more' : '';
  return `The model could not take all of it, so I omitted ${named}${more}. I am answering the rest.`;
}
