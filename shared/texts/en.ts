import { ASKING_EN } from './asking-en.ts';
import { MENU_EN } from './menu.ts';
import { joinItems, type Moment, momentEn, type Rhythm, rhythmEn } from './times.ts';

const BUDGET = { chat: "This chat's budget", person: 'Your budget', total: 'My budget' };
const PERIOD = { day: 'today', month: 'this month' };

/** A formatted number with its noun. */
function counted(count: string, noun: string): string {
  return `${count} ${noun}${count === '1' ? '' : 's'}`;
}

/**
 * All texts for users, except the model's answers, in English: plain sentences that do not quote providers and contain no
 * internal numbers or names of the gateway.
 */
export const EN = {
  languageName: 'English',
  freshSession:
    "Our conversation got too long, so I've summarized it and started a new one. Use /recall to search the earlier messages, or /export to get all of them.",
  freshAfterPoison:
    "I got stuck on something in our conversation, so I've started a new one with a short summary of the old one. Use /recall to search the earlier messages, or /export to get all of them.",
  bareAfterPoison:
    "I got stuck on something in our conversation, so I've started a new, empty one. Nothing is lost: use /recall to search the earlier messages, or /export to get all of them.",
  compacted: (messages: number) =>
    `To make room, I replaced ${messages === 1 ? 'the oldest message' : `the ${messages} oldest messages`} with a summary. Use /recall to search the originals, or /export to get all of them.`,
  shortenedText: (name: string | undefined, percent: number) =>
    `${name ? `“${name}”` : 'Your message'} is too long for me to read at once, so I read only ${percent}% of it: the beginning and the end. If that isn't enough, send me only the part that matters.`,
  shortenedPages: (name: string | undefined, pages: number, all: number) =>
    `${name ? `“${name}”` : 'Your PDF'} is too large for me to read at once, so I read only the text of the first ${pages === 1 ? '' : `${pages} `}of its ${all} pages, without the pictures. If that isn't enough, send me only the pages that matter.`,
  pagesWithoutText: (name: string | undefined) =>
    `${name ? `“${name}”` : 'Your PDF'} is too large for me to read at once, and I found no text on its pages, so I haven't read it. Please send fewer pages.`,
  scrubbed: 'Your message was too long, so I read only the beginning and the end. You can send the rest in parts.',
  leftOut: {
    text: 'the middle of a long text',
    result: 'part of what a tool returned',
    picture: 'a picture',
    file: 'a file',
    named: (title: string) => `the file “${title}”`,
  },
  removed: (names: readonly string[], hasMore: boolean) =>
    `I couldn't read everything in our conversation, so I left out ${joinItems('en-GB', hasMore ? [...names, 'more'] : names)}. Use /export to get everything I've kept.`,

  endlessThought:
    "I thought about this message for too long and didn't get to an answer. Please break it into smaller questions. You can keep writing here.",
  waiting:
    "I can't answer right now. Your message is saved, and I'll answer as soon as I can. There's no need to send it again.",
  oneMoment: "One moment… If my answer doesn't appear here, I'll send it to you in our private chat.",
  onlyOneMessage: '[Shortened: I can send only one message here. Please ask for less at a time.]',
  answeredInPrivate: (title: string | undefined) =>
    `You asked me something in ${title === undefined ? 'another chat' : `“${title}”`}. I couldn't answer there, so here's my answer:`,
  repeat: '↻ The connection broke while I was sending this, so you may have it already:',
  undelivered: "Telegram didn't accept my answer to one of your earlier messages. Please ask me again.",
  gaveUp:
    "I couldn't answer this message: it's too long for me. Please send it in smaller parts. You can keep writing here.",
  notTaken:
    "I couldn't answer this message: there's something in it that I can't process. The operator has been notified. You can keep writing here.",
  unreadable: "I couldn't read this message. The operator has been notified. Please send it again.",
  fileAway:
    "I couldn't get your file from Telegram. The operator has been notified. Please send it again in a few minutes.",
  unavailable: "I couldn't answer just now. The operator has been notified. Please try again in a few minutes.",
  misconfigured: "I can't answer at the moment. The operator has been notified. Please try again later.",
  budget: {
    usedUp: (whose: keyof typeof BUDGET, period: keyof typeof PERIOD, from: Moment) =>
      `${BUDGET[whose]} for ${PERIOD[period]} is used up. Please ask me again from ${momentEn(from)}.`,
    nearly: (whose: keyof typeof BUDGET, period: keyof typeof PERIOD, share: string, from: Moment) =>
      `${BUDGET[whose]} for ${PERIOD[period]} is nearly used up: about ${share}. Once it runs out, I won't answer until ${momentEn(from)}.`,
    share: (spent: string, max: string) => `${spent} of ${max}`,
    line: (whose: keyof typeof BUDGET, period: keyof typeof PERIOD, share: string, percent: number) =>
      `${BUDGET[whose]} for ${PERIOD[period]}: ${share} (${percent}%)`,
  },
  declined: "I can't help with this message. You can send another one.",
  nothingToAdd: "Done. There's nothing to add.",
  cutAnswer: '[This answer reached its length limit. Ask me to continue.]',
  brokenOff: '[This answer breaks off here. Ask me to continue.]',
  laneFull: (count: number) =>
    `Too many of your messages are waiting, so I skipped ${count === 1 ? 'one of them. Please send it' : `${count} of them. Please send them`} again when I've caught up.`,
  /** The kinds of messages, by Telegram's names for them. */
  kinds: {
    animation: 'animation',
    audio: 'audio file',
    document: 'file',
    game: 'game',
    giveaway: 'giveaway',
    giveaway_winners: 'giveaway winners',
    invoice: 'invoice',
    live_photo: 'live photo',
    paid_media: 'paid media',
    photo: 'photo',
    story: 'story',
    unknown: 'unknown',
    video: 'video',
    video_note: 'video note',
    voice: 'voice message',
  },
  unsupportedKind: (what: string) =>
    `I can't read this kind of message yet (${what}). You can send me text, photos, PDF files and text files.`,
  unreadableFile: (why: string, name: string | undefined) =>
    `I couldn't read ${name ? `the file “${name}”` : 'this file'}: ${why}`,
  fileProblem: {
    empty: "it's empty.",
    other_kind: 'I can read only pictures, PDF files and text files in UTF-8.',
    picture_format: "I don't know this picture format. Please send it as a photo, or as JPEG or PNG.",
    broken_picture: 'the picture is damaged. Please send it again.',
    huge_picture: 'the picture has too many pixels. Please send a smaller one.',
    broken_pdf: 'the PDF is damaged. Please save it again and resend it.',
    locked_pdf: 'the PDF is protected with a password. Please send one without.',
    too_many_pages: 'the PDF has too many pages. Please send only the pages that matter.',
    too_slow: 'it takes too long to open. Please send a simpler one.',
    too_costly: 'it takes too much memory to open. Please send a simpler one.',
    too_large: "it's larger than 20 MB. Please send a smaller one.",
    not_downloaded: 'the download from Telegram failed. Please send it again.',
  },
  heard: (words: string) => `🎤 “${words}”`,
  nothingHeard: "I couldn't make out any words in this recording. Please send it again, or write to me.",
  notTranscribed:
    "I couldn't turn your recording into text just now. The operator has been notified. Please try again in a few minutes, or write to me.",
  didYouMean: (command: string) => `Did you mean /${command}?`,
  whoami: (id: string, name: string, chat: string | undefined) =>
    `Your ID is ${id}${name === '' ? '' : ` (${name})`}.${chat === undefined ? '' : ` The ID of this chat is ${chat}.`}`,
  newConversation:
    'A new conversation starts here. The old one is kept: use /chats to go back to it, or /recall to search it.',
  notPermitted: 'Only people the operator has allowed can do this.',
  pairing: (code: string) =>
    `I only answer people my operator has let in, so I've asked for you. Your code is ${code}, good for an hour. Once you're in, write again.`,
  stoppedHere: '⏹ Stopped here.',
  stoppedByOperator: "⏹ The operator of this bot cancelled this message, so I won't answer it.",
  stopped: "Stopped. I won't answer what you wrote before this.",
  nothingToStop: 'There was nothing to stop.',
  fileNotSent: (name: string) => `I couldn't send the file “${name}”: Telegram didn't accept it.`,
  stopButton: '⏹ Stop',
  working: '⏳ Working…',
  usingTool: (name: string) => `Using ${name}`,
  usingOwnTool: {
    recall: 'Searching earlier messages',
    send_file: 'Preparing a file',
    reminders: 'Managing reminders',
    memory: 'Looking at my memory of this chat',
    ask_user: 'Reading your answer',
  },
  ...ASKING_EN,
  retryButton: '↻ Try again',
  againButton: '↻ New answer',
  retrying: "I'm trying that message again.",
  nothingToRetry: "I can't try that again. Please send your message once more.",
  compactedNow: (full: number) =>
    `Done: I replaced older messages with a summary. Use /recall to search the originals. The context is now ${full}% full.`,
  nothingToCompact: "There's nothing to summarize yet: the whole conversation fits.",
  notCompacted: "I couldn't make a summary just now. Nothing has changed. Please try again in a few minutes.",

  status: {
    model: (name: string) => `Model: ${name}`,
    context: (gauge: string, percent: number, tokens: string, window: string) =>
      `Context: ${gauge} ${percent}% (${tokens} of ${window} tokens)`,
    contextEmpty: 'Context: empty',
    conversation: (messages: string, since: string) => `Conversation: ${counted(messages, 'message')} since ${since}`,
    compacted: (when: string) => `Older messages last summarized: ${when}`,
    neverCompacted: 'Nothing summarized yet: I still see every message.',
    working: (seconds: number) => `I've been working on a message for ${seconds} s.`,
    idle: 'Nothing is waiting.',
    waiting: (count: number) => (count === 1 ? '1 message is waiting.' : `${count} messages are waiting.`),
    today: (cost: string) => `Cost today: about ${cost}`,
  },
  usage: {
    title: 'What this chat has cost (estimated):',
    today: 'Today',
    week: 'Last 7 days',
    month: 'Last 30 days',
    line: (period: string, cost: string, calls: string, input: string, output: string) =>
      `${period}: ${cost} (${counted(calls, 'call')}, ${input} tokens in, ${output} out)`,
    persons: 'By person, last 30 days:',
    others: 'Everyone else',
    share: (name: string, cost: string, percent: number) => `${name}: ${cost} (${percent}%)`,
    unpriced: "I don't know the price of some of these calls, so the costs leave them out.",
    estimated: "The costs are my estimate, based on the models' prices. Days are in UTC.",
  },
  modelIs: (name: string) => `This chat uses ${name}.`,
  modelSet: (name: string) => `This chat uses ${name} from the next message on.`,
  modelGone: (model: string, next: string) =>
    `The model ${model} is no longer available, so this chat now uses ${next}. Use /model to choose another one.`,
  modelUnknown: (names: readonly string[]) => `I can only use these models here: ${names.join(', ')}.`,
  languageIs: "My notices here are in English. This doesn't change the language of my answers.",
  languageUnknown: (names: readonly string[]) => `Please choose a language: ${names.join(', ')} or auto.`,
  languageAuto: 'My notices now follow the language of your app.',
  busy: {
    queue: "If you write while I'm working, I finish first and then answer your messages one by one.",
    merge: "If you write while I'm working, I finish first and then answer your new messages together.",
    interrupt: "If you write while I'm working, I stop and answer everything together.",
    unknown: 'Please choose queue, merge or interrupt.',
  },
  busyButtons: { queue: 'One by one', merge: 'Together', interrupt: 'Interrupt' },
  undoButton: (place: number) => `↩ Undo ${place}`,
  reminders: {
    title: (count: number) => `${count} upcoming ${count === 1 ? 'reminder' : 'reminders'}:`,
    none: 'There are no upcoming reminders here. Just ask me, for example: remind me tomorrow at nine to call Ann.',
    line: (again: string, text: string) => `${again}: ${text}`,
    again: (rhythm: Rhythm, zone: string) => `, ${rhythmEn(rhythm)}${zone === '' ? '' : ` (${zone})`}`,
    cancelButton: (place: number) => `✕ Cancel ${place}`,
    cancelled: (text: string) => `Cancelled: ${text}`,
    unknown: 'That reminder no longer exists.',
    restored: 'Set again:',
    full: (max: number) => `This chat already has ${max} reminders. Please cancel one first.`,
    /** Reminders that the model set while it answered. A user, a page or a tool may have asked for them. */
    setForLater: "⏰ Reminders I've set:",
    cancelledByModel: "⏰ Reminders I've cancelled:",
    usage: 'Use /reminders and choose one to cancel.',
    /** The reminder itself, if no answer from the model contains it. */
    plain: (text: string) => `⏰ Reminder: ${text}`,
    dueAt: (when: string, more: number) =>
      more === 0 ? when : `${when} (and ${more === 1 ? 'once more' : `${more} more times`} since then)`,
    late: (when: string) => `This reminder was due at ${when}, but I couldn't send it then.`,
    lateTogether: (lines: string) => `These reminders were due earlier, but I couldn't send them then:\n${lines}`,
    behindQuestion: (text: string) => `⏰ Reminder: ${text}\n\nI'll say more once my question above is answered.`,
    waiting: (text: string) => `⏰ Reminder: ${text}\n\nI can't answer right now, but I'll follow up as soon as I can.`,
    left: (texts: readonly string[]) =>
      `This group has a new ID, and I couldn't move these reminders to it. Please set them again:\n${texts.join('\n')}`,
  },
  memory: {
    title: (count: number, percent: number) =>
      `What I remember about this chat (${count} ${count === 1 ? 'note' : 'notes'}, ${percent}% full):`,
    none: "I don't remember anything about this chat yet. Just tell me, for example: remember that I don't eat meat.",
    /** The sources of notes that perhaps nobody in the chat wrote. */
    from: {
      page: '(from a page or a tool)',
      forward: '(from a forwarded message)',
      unsure: '(noted after I used a tool)',
    },
    deleteButton: (place: number) => `🗑 Delete ${place}`,
    deleteAllButton: '🗑 Delete all',
    deleted: (text: string) => `Deleted: ${text}`,
    deletedAll: "Deleted. I don't remember anything about this chat any more.",
    unknown: 'That note no longer exists.',
    asks: (count: number) =>
      `This deletes everything I remember about this chat (${count} ${count === 1 ? 'note' : 'notes'}). It can't be undone. What was said in the conversation stays.`,
    /** Changes that the model made while it answered. A user, a page or a tool may have asked for them. */
    changed: "📝 I've changed what I remember about this chat:",
    remembered: (text: string) => `Noted: ${text}`,
    replaced: (text: string, before: string) => `Changed to: ${text} (was: ${before})`,
    restored: (text: string) => `Restored: ${text}`,
    tooLate:
      "That can't be undone any more: it has changed since, has already been undone, or is more than a week old.",
    full: "That can't be undone: my memory of this chat is full. Please delete something first.",
    exported: 'What I remember about this chat:',
    usage: 'Use /memory and choose what to delete.',
    left: (lines: string) =>
      `This group has a new ID, and I couldn't move my memory there. Please tell me again what I should remember:\n${lines}`,
  },
  chats: {
    title: (count: number) =>
      `${count === 1 ? 'One conversation' : `${count} conversations`} in this chat, newest first. To name this one: /chats name Trip to Tainan`,
    none: 'There are no conversations here yet.',
    line: (words: string, messages: string, from: string, to: string) =>
      `${words}\n${from === to ? from : `${from} – ${to}`}, ${counted(messages, 'message')}`,
    isPresent: '(open now)',
    noWords: 'no text',
    continueButton: (place: number) => `▶ Continue ${place}`,
    olderButton: 'Older ones',
    backButton: '▶ Back to the old conversation',
    continued: (words: string) =>
      `We're back in this conversation: ${words}\n\nThe one we left is kept: /chats shows it.`,
    isHere: "We're in that conversation already.",
    gone: 'That conversation no longer exists.',
    named: (name: string) => `This conversation is now called “${name}”.`,
    unnamed: 'This conversation no longer has a name.',
  },
  timeZoneIs: (zone: string, now: string) => `The time in this chat is ${now} (${zone}).`,
  timeZoneSet: (zone: string, now: string) =>
    `The time in this chat is now ${now} (${zone}). Reminders that are already set keep their times.`,
  timeZoneUnknown: (word: string) =>
    `I don't know the time zone “${word}”. Try, for example: /timezone Europe/Berlin, or /timezone auto`,
  recallUsage: 'Add the words to find, for example: /recall train to Tainan',
  recalled: (count: number) => (count === 1 ? 'I found one match:' : `I found ${count} matches, best first:`),
  nothingRecalled:
    'I found nothing with these words. Please try others. I search only older messages; I still see the recent ones.',
  recalledInPart: "I couldn't search some of the older messages.",
  recallFailed: "I couldn't search earlier messages just now. Please try again in a moment.",
  exported: (messages: string) => `Everything I've kept from this chat: ${counted(messages, 'message')}.`,
  exportedReadable: 'The same, as text you can read.',
  nothingToExport: "There's nothing to export yet.",
  exportTooLarge: 'This chat is too large to send as a file. Please ask the operator for it.',
  forgetAsks:
    "This permanently erases everything I've kept from this chat: all conversations, files, reminders, my memory of it, settings and failed messages. It can't be undone. What Telegram shows stays until you delete it there.",
  forgetButton: 'Erase everything',
  forgotten: 'Erased. A new conversation starts here.',

  start: "Hello! Send me a message and I'll answer.",
  helpTitle: "Send me a message and I'll answer. You can send text, photos, PDF files and text files.",
  helpVoice: 'You can also send voice messages: I turn them into text.',
  helpReminders: "Ask me to remind you of something, and I'll write to you when it's time.",
  helpInGroups: 'In this group I answer when you mention me, reply to me, or use a command.',
  helpPrivacy:
    'Telegram shows me only commands and replies here, because my privacy mode is on. To let me see mentions, the operator must turn it off in @BotFather and add me to the group again.',
  menu: MENU_EN,
};
