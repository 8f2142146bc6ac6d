/** Everything that a user is told besides answers: plain sentences, without a provider's words, numbers or internals. */
export const NOTICE = {
  freshSession:
    'Our conversation had grown too large for the model, so I went on in a fresh session with a short summary of it.',
  scrubbed: 'Your message was too large for the model; I read only its beginning and its end.',
  gaveUp:
    'I could not answer this message: it is too large for the model, even in a fresh session. Please send it in smaller parts. You can go on writing here.',
  unreadable: 'I could not read this message. The operator was told. Please send it again.',
  unavailable:
    'I could not get an answer from the model just now. The operator was told. Please try again in a few minutes.',
  misconfigured: 'I cannot answer at the moment. The operator was told.',
  declined: 'The model declined to answer this message. You can go on with another one.',
  cutAnswer: '[The answer was cut at its length limit. Ask me to go on.]',
  newConversation: 'A new conversation starts here. The old one is kept.',
  help: 'Write to me and I answer.\n/new starts a new conversation; the old one is kept.\n/help shows this.',
} as const;

/** What a user is told about a message that holds no text. `what` is Telegram's name for its kind. */
export function unsupportedKind(what: string): string {
  return `I cannot read this kind of message yet (${what.replaceAll('_', ' ')}). Please send text.`;
}
