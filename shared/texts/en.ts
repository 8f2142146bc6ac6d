const BUDGET = { chat: 'The budget of this chat', person: 'Your budget', total: 'My budget' };
const PERIOD = { day: 'today', month: 'this month' };

function again(period: keyof typeof PERIOD, atMs: number): string {
  if (period === 'day') return 'at midnight, UTC';
  return `on ${new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', timeZone: 'UTC' }).format(atMs)}, UTC`;
}

/**
 * Every text that a user reads besides answers, in English: plain sentences, without a provider's words, numbers or
 * internals.
 */
export const EN = {
  languageName: 'English',

  freshSession:
    'Our conversation had grown too large for the model, so I continue in a fresh session with a short summary of it. To find what was said, write /recall and words; /export sends all of it.',
  freshAfterPoison:
    'The model did not accept our conversation any more, so I continue in a fresh session with a short summary of it. To find what was said, write /recall and words; /export sends all of it.',
  bareAfterPoison:
    'The model did not accept our conversation any more, so I continue in a fresh session, without it. It is kept: /recall and words searches it, /export sends all of it.',
  compacted: (messages: number) =>
    `To make room, I now work with a summary of the ${messages} oldest messages here. To find what they said, write /recall and words; /export sends all of it.`,
  shortenedText: (name: string | undefined, percent: number) =>
    `${name ? `“${name}”` : 'Your message'} is too long for me to read at once, so I read ${percent} % of it: the beginning and the end.`,
  shortenedPages: (name: string | undefined, pages: number, all: number) =>
    `${name ? `“${name}”` : 'Your PDF'} is too large for me to read at once, so I read the text of ${pages === 1 ? 'the first page' : `the first ${pages} pages`} of ${all}, without pictures.`,
  pagesWithoutText: (name: string | undefined) =>
    `${name ? `“${name}”` : 'Your PDF'} is too large for me to read at once, and I found no text on its pages, so I did not read it. Please send fewer pages.`,
  scrubbed: 'Your message was too large for the model; I read only its beginning and its end.',
  removed: (names: readonly string[], hasMore: boolean) =>
    `The model could not take all of it, so I omitted ${names.join(', ')}${hasMore ? ' and more' : ''}. /export sends all that is kept.`,

  endlessThought:
    'I could not finish thinking about this message within my limits. Please ask in smaller steps. You can go on writing here.',
  waiting: 'The model cannot be reached just now. Your message is kept and waits; there is no need to send it again.',
  repeat: '↻ The connection broke while I was sending this, so it may be a repeat:',
  gaveUp:
    'I could not answer this message: it is too large for the model. Please send it in smaller parts. You can go on writing here.',
  notTaken:
    'I could not answer this message: the model does not accept it. The operator has been notified. You can go on writing here.',
  unreadable: 'I could not read this message. The operator has been notified. Please send it again.',
  fileAway:
    'I could not get your file from Telegram. The operator has been notified. Please send it again in a few minutes.',
  unavailable:
    'I could not get an answer from the model just now. The operator has been notified. Please try again in a few minutes.',
  misconfigured: 'I cannot answer at the moment. The operator has been notified.',
  budget: {
    usedUp: (whose: keyof typeof BUDGET, period: keyof typeof PERIOD, againMs: number) =>
      `${BUDGET[whose]} is used up for ${PERIOD[period]}. It starts again ${again(period, againMs)}.`,
    nearly: (whose: keyof typeof BUDGET, period: keyof typeof PERIOD, againMs: number, percent: number) =>
      `${BUDGET[whose]} for ${PERIOD[period]} is ${percent} % used. It starts again ${again(period, againMs)}.`,
    line: (whose: keyof typeof BUDGET, period: keyof typeof PERIOD, spent: string, percent: number) =>
      `${BUDGET[whose]} for ${PERIOD[period]}: ${spent} (${percent} %)`,
  },
  declined: 'The model declined to answer this message. You can go on with another one.',
  nothingToAdd: 'Done. There is nothing to add.',
  cutAnswer: '[The answer was cut at its length limit. Ask me to go on.]',
  brokenOff: '[The answer breaks off here. Ask me to go on.]',
  laneFull: (count: number) => {
    const [which, them] = count === 1 ? ['this one', 'it'] : [`${count} of them`, 'them'];
    return `Too many of your messages are waiting, so I did not take ${which}. Please send ${them} again when I have caught up.`;
  },
  /** By Telegram's names for them. */
  kinds: {
    animation: 'animation',
    audio: 'audio file',
    document: 'file',
    game: 'game',
    live_photo: 'live photo',
    paid_media: 'paid media',
    photo: 'photo',
    story: 'story',
    unknown: 'a kind that is new to me',
    video: 'video',
    video_note: 'video note',
    voice: 'voice message',
  },
  unsupportedKind: (what: string) =>
    `I cannot read this kind of message yet (${what}). I can read text, photos, PDF files and text files.`,
  unreadableFile: (why: string, name: string | undefined) =>
    `I could not read ${name ? `the file "${name}"` : 'this file'}: ${why}`,
  fileProblem: {
    empty: 'it is empty.',
    other_kind: 'I can read only pictures, PDF files and text files in UTF-8.',
    picture_format: 'I do not know this picture format. Please send it as a photo, or as JPEG or PNG.',
    broken_picture: 'the picture is damaged. Please send it again.',
    huge_picture: 'the picture has too many pixels. Please send a smaller one.',
    broken_pdf: 'the PDF is damaged. Please save it again and send that.',
    locked_pdf: 'the PDF is protected with a password. Please send one without.',
    too_many_pages: 'the PDF has too many pages. Please send only those that matter.',
    too_slow: 'it takes me too long to open. Please send a simpler one.',
    too_costly: 'I ran out of memory when I opened it. Please send a simpler one.',
    too_large: 'it is larger than 20 MB. Please send a smaller one.',
    not_downloaded: 'it could not be downloaded from Telegram. Please send it again.',
  },

  heard: (words: string) => `🎤 “${words}”`,
  nothingHeard: 'I could not make out any words in this recording. Please send it again, or write to me.',
  notTranscribed:
    'I could not turn your recording into text just now. The operator has been notified. Please try again in a few minutes, or write to me.',

  newConversation: 'A new conversation starts here. The old one is kept.',
  notPermitted: 'Only people on my allow list can do this in a group.',
  stoppedHere: '⏹ Stopped here.',
  stoppedByOperator: '⏹ The operator of this bot stopped this message. It will not be answered.',
  stopped: 'Stopped. I will not answer what you wrote before this.',
  nothingToStop: 'There was nothing to stop.',
  fileNotSent: (name: string) => `I could not send the file "${name}": Telegram did not take it.`,
  stopButton: '⏹ Stop',
  working: '⏳ Working …',
  usingTool: (name: string) => `Using ${name}`,
  usingOwnTool: {
    recall: 'Searching what was said here',
    send_file: 'Preparing a file',
    reminders: 'Looking after reminders',
  },
  retryButton: '↻ Try again',
  retrying: 'I am trying that message again.',
  nothingToRetry: 'There is no message here that failed and could be tried again.',
  compactedNow: (percent: number) => `Done: older messages are a summary now, and the context is ${percent} % full.`,
  nothingToCompact: 'There is nothing to compact yet: the whole conversation fits.',
  notCompacted: 'I could not make a summary just now. Nothing was changed. Please try again in a few minutes.',

  status: {
    model: (name: string) => `Model: ${name}`,
    context: (gauge: string, percent: number, tokens: string, window: string) =>
      `Context: ${gauge} ${percent} % (${tokens} of ${window} tokens)`,
    contextEmpty: 'Context: empty',
    conversation: (messages: string, since: string) => `Conversation: ${messages} messages since ${since}`,
    compacted: (when: string) => `Last compacted: ${when}`,
    neverCompacted: 'Never compacted: every message is shown to the model.',
    working: (seconds: number) => `Working on a message for ${seconds} s`,
    idle: 'Nothing is waiting.',
    waiting: (count: number) => (count === 1 ? '1 message waits.' : `${count} messages wait.`),
    today: (cost: string) => `Cost today: ${cost}`,
  },
  usage: {
    title: 'What this chat has used:',
    today: 'Today',
    week: '7 days',
    month: '30 days',
    line: (period: string, calls: string, input: string, output: string, cost: string) =>
      `${period}: ${calls} calls, ${input} tokens in, ${output} out, ${cost}`,
    unpriced: 'The price of some of these calls is not known, so they are not in the sum.',
    day: 'Days are days of UTC.',
  },
  modelIs: (name: string) => `This chat uses ${name}.`,
  modelSet: (name: string) => `From the next message on, this chat uses ${name}.`,
  modelGone: (gone: string, now: string) =>
    `The model ${gone} is no longer available, so this chat uses ${now} from now on. To choose another one, write /model.`,
  modelUnknown: (names: readonly string[]) => `I can use only these models here: ${names.join(', ')}.`,
  languageIs: 'I write my notices in English here. This does not change the language of answers.',
  languageUnknown: (names: readonly string[]) => `I know only these languages: ${names.join(', ')}, or auto.`,
  languageAuto: 'From now on my notices are in the language of your app.',
  busy: {
    queue: 'What you write while I work waits, and is answered one message after the other.',
    merge: 'What you write while I work waits, and all of it is answered together.',
    interrupt: 'What you write while I work cuts that short, and is answered together with it.',
    unknown: 'Choose queue, merge or interrupt.',
  },
  busyButtons: { queue: 'One by one', merge: 'Together', interrupt: 'At once' },
  reminders: {
    title: (count: number, zone: string) =>
      count === 1 ? `One reminder is to come (${zone}):` : `${count} reminders are to come (${zone}):`,
    none: 'No reminder is to come here. Ask me in your own words, for example: remind me tomorrow at nine to call Ann.',
    line: (when: string, again: string, text: string) => `${when}${again}: ${text}`,
    cron: (cron: string, zone: string) => `, again by ${cron} (${zone})`,
    every: (minutes: number) => `, again every ${minutes} minutes`,
    cancelButton: (place: number) => `✕ Cancel ${place}`,
    cancelled: (text: string) => `Cancelled: ${text}`,
    unknown: 'There is no such reminder any more.',
    /** What the model has set while it answered, whoever asked for that. */
    setForLater: (lines: string, zone: string, more: number) =>
      `⏰ I have set this for later (${zone}):\n${lines}${more === 0 ? '' : `\n… and ${more} more, see /reminders`}`,
    undoButton: (place: number) => `↩ Undo ${place}`,
    usage: 'Write /reminders, and choose one to cancel.',
    /** What a person reads when no answer of the model says it. */
    plain: (text: string) => `⏰ Reminder: ${text}`,
    late: (when: string) => `This reminder was due at ${when}. I could not give it then.`,
    waiting: (text: string) => `⏰ Reminder: ${text}\n\nThe model cannot be reached just now. Its answer comes later.`,
    left: (texts: readonly string[]) =>
      `This group has a new id, and these reminders could not come with it. Please set them again:\n${texts.join('\n')}`,
  },
  timeZoneIs: (zone: string, now: string) => `The clocks of this chat show ${now} (${zone}).`,
  timeZoneSet: (zone: string, now: string) =>
    `The clocks of this chat show ${now} (${zone}) from now on. Reminders that were set before keep their times.`,
  timeZoneUnknown: (word: string) =>
    `I know no time zone "${word}". Write one such as: /timezone Europe/Berlin, or /timezone auto`,
  recallUsage: 'Write the words to search for behind the command, for example: /recall train to Tainan',
  recalled: (count: number) => (count === 1 ? 'I found one place:' : `I found ${count} places, the best first:`),
  nothingRecalled: 'I found nothing with these words. Only what is older than the present context is searched.',
  recallFailed: 'I could not read the history just now. Please try again in a moment.',
  exported: (messages: string) => `Everything that is kept of this chat: ${messages} messages.`,
  exportedReadable: 'The same, to read.',
  nothingToExport: 'There is nothing to export yet.',
  exportTooLarge: 'This chat is too large for one file. Please ask the operator for it.',
  forgetAsks:
    'This erases everything of this chat that I keep: all conversations, files, reminders, settings and failed messages. It cannot be undone. What Telegram shows stays until you delete it there.',
  forgetButton: 'Erase everything',
  forgotten: 'Erased. A new conversation starts here.',

  start: 'Hello. Write to me, and I answer.',
  helpTitle: 'Write to me and I answer. You can send text, photos, PDF files and text files.',
  helpInGroups: 'In this group I answer when you mention me, reply to me, or use a command.',
  helpPrivacy:
    'Telegram shows me only commands and replies here, because my privacy mode is on. To let me see mentions, the owner turns it off at @BotFather and adds me to the group again.',
  menu: {
    stop: 'End what I am working on, and what waits',
    new: 'End that too, and start a new conversation',
    retry: 'Try a message again that failed',
    status: 'How full the context is, what waits, and the cost',
    model: 'Choose the model',
    compact: 'Make room: older messages become a summary',
    recall: 'Search what was said here',
    export: 'Get this chat as files',
    usage: 'Calls, tokens and cost',
    reminders: 'What I shall remind you of',
    timezone: 'The time zone of this chat',
    busy: 'What happens to messages while I work',
    lang: 'The language of my notices',
    forget: 'Erase everything of this chat',
    help: 'Say what I can do',
  },
};
