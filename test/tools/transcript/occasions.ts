import type { Texts } from '../../../shared/texts/language.ts';
import type { Rhythm } from '../../../shared/texts/times.ts';

/**
 * The occasion of each text: in one clause, and for a function with samples of its arguments. A group of plain strings may
 * have one occasion.
 */
export type Occasions<T> = T extends string
  ? string
  : T extends (...args: infer Args) => string
    ? readonly [occasion: string, sample: Args, ...others: Args[]]
    : { readonly [Key in keyof T]: Occasions<T[Key]> } | (T[keyof T] extends string ? string : never);

const MORNING = { atMs: Date.UTC(2026, 11, 1, 1), timeZone: 'Asia/Taipei' };
const MONDAYS: Rhythm = { weekdays: [1], dates: [], months: [], times: { list: [540], more: 0 } };
const NIGHT = '2026-12-01 09:00';
const REFUSED = 'the history was refused and an answer came without it';

/** When each text for users appears. */
// biome-ignore format: it is a table
export const OCCASIONS: Occasions<Texts> = {
  languageName: 'the button of /lang', freshSession: 'the conversation outgrew the model and goes on in a new one',
  freshAfterPoison: `${REFUSED}, with a summary`, bareAfterPoison: `${REFUSED}, with no summary`,
  compacted: ['above an answer, after older messages became a summary', [12], [1]],
  shortenedText: ['a file or a message was cut to fit', ['notes.txt', 40], [undefined, 40]],
  shortenedPages: ['the text of some pages replaced a PDF', ['book.pdf', 20, 300], [undefined, 1, 300]],
  pagesWithoutText: ['a PDF is too large and has no text', ['scan.pdf'], [undefined]],
  scrubbed: 'a long message was cut so that it fits',
  leftOut: {
    text: 'a part that was left out, as `removed` names it', result: 'the same', picture: 'the same', file: 'the same',
    named: ['the same', ['report.pdf']],
  },
  removed: ['parts of the conversation were left out to get an answer', [['book.pdf', 'map.png'], true], [['book.pdf'], false]],
  endlessThought: 'thinking used up the whole answer, three times',
  waiting: 'the model does not answer, and the message waits',
  oneMoment: 'at once, where the bot was called in a chat that it is not part of',
  onlyOneMessage: 'below an answer there that had to be cut',
  answeredInPrivate: ['above an answer that could not be put there', ['Cycling'], [undefined]],
  repeat: 'above a part that may have been sent before', undelivered: 'Telegram refused a finished answer',
  gaveUp: 'a long message could not be answered in any way',
  notTaken: 'a short message could not be answered in any way', unreadable: 'a stored message cannot be decoded',
  fileAway: 'Telegram does not hand over a file', unavailable: 'the model was in trouble for too long',
  misconfigured: 'the key, the credit or the settings are at fault',
  budget: {
    usedUp: ['a message is refused for a budget', ['chat', 'day', MORNING], ['person', 'month', MORNING], ['total', 'day', MORNING]],
    nearly: ['below an answer, near the end of a budget', ['chat', 'month', '91%', MORNING]],
    share: ['what is spent, within the other texts', ['$9.10', '$10.00']],
    line: ['a line of /usage', ['total', 'month', '91%', 91]],
  },
  declined: 'the model declined', nothingToAdd: 'the model ended without a word',
  cutAnswer: 'below an answer that reached its length limit', brokenOff: 'below an answer that an error cut',
  laneFull: ['too many messages wait', [3], [1]], kinds: 'a kind of message, as `unsupportedKind` names it',
  unsupportedKind: ['a message with nothing that can be read', ['video note']],
  unreadableFile: ['a file cannot be read', ['…', 'notes.txt'], ['…', undefined]],
  fileProblem: 'the reason in `unreadableFile`', heard: ['above the answer to a recording', ['Meet me at noon']],
  nothingHeard: 'a recording has no words', notTranscribed: 'the endpoint for speech failed',
  didYouMean: ['a command has one wrong letter', ['model']],
  whoami: ['/whoami, in a group and in private', ['1001', 'Ann', '-1002000'], ['1001', '', undefined]],
  newConversation: '/new', notPermitted: 'a guest of a group gives a command that is not for guests',
  pairing: ['a stranger writes in private, with PAIRING', ['BCDFGH']],
  stoppedHere: 'below the words so far, after a stop', stoppedByOperator: 'an operator cancelled a message',
  stopped: '/stop, with something to stop', nothingToStop: '/stop, with nothing to stop',
  fileNotSent: ['Telegram refused a file of an answer', ['table.csv']], stopButton: 'the button under the status line',
  working: 'the status line while a message is answered', usingTool: ['below the status line', ['notebook: write']],
  usingOwnTool: 'the same, for tools of the gateway',
  approval: {
    title: ['before a tool acts', [1], [3]], inFile: ['behind the beginning of a long argument', [12_000]],
    moreInFile: ['below the arguments that are shown', [4], [1]], file: 'the caption of the file with all arguments',
    once: 'a button under the question', always: 'a button there', decline: 'a button there', skip: 'a button there',
    alwaysTool: ['a button there, with several tools', ['notebook: write']],
    decided: ['a press was counted', ['once', 'Ann', ''], ['declined', '', ''], ['chosen', 'Ann', 'Blue'], ['chosen', '', 'Blue']],
    granted: ['a press on "Always here"', ['Ann', 'notebook: write', '2026-12-31']],
    stillOpen: 'below that, if other tools wait',
    behind: ["a message waits behind somebody else's question", ['Ann'], ['']], over: 'a press comes too late',
  },
  tools: {
    granted: ['/tools', [['notebook: write …']]], grant: ['a line of /tools', ['notebook: write', 'Ann', '2026-12-31']],
    asking: ['/tools', [['notebook: erase']]], none: '/tools, where no tool asks',
    askButton: ['a button of /tools', ['notebook: write']],
  },
  retryButton: 'the button under a failure', againButton: 'the button under a cut answer', retrying: '/retry of a failed message',
  nothingToRetry: '/retry, with nothing to try again',
  compactedNow: ['/compact', [35]], nothingToCompact: '/compact, with nothing to do',
  notCompacted: '/compact, when the summary failed',
  status: {
    model: ['a line of /status', ['claude-opus-4-7']],
    context: ['a line of /status', ['▓▓▓░░░░░░░', 31, '62,000', '200,000']], contextEmpty: 'a line of /status',
    conversation: ['a line of /status', ['48', NIGHT], ['1', NIGHT]], compacted: ['a line of /status', [NIGHT]],
    neverCompacted: 'a line of /status', working: ['a line of /status', [12]], idle: 'a line of /status',
    waiting: ['a line of /status', [3], [1]], today: ['a line of /status', ['$0.42']],
  },
  usage: {
    title: 'the title of /usage', today: 'a period of /usage', week: 'a period of /usage', month: 'a period of /usage',
    line: ['a line of /usage', ['…', '$1.20', '31', '410,000', '22,000'], ['…', '$0.01', '1', '900', '40']],
    persons: 'the title of the shares, in a group', others: 'the last of the shares',
    share: ['a share', ['Ann', '$0.80', 67]], unpriced: 'below the costs, if a price is not known',
    estimated: 'below the costs',
  },
  modelIs: ['/model', ['claude-opus-4-7']], modelSet: ['/model with a name', ['claude-haiku-4-5']],
  modelGone: ['the endpoint does not know the chosen model any more', ['claude-3-opus', 'claude-opus-4-7']],
  modelUnknown: ['/model with an unknown name', [['claude-opus-4-7', 'claude-haiku-4-5']]], languageIs: '/lang',
  languageUnknown: ['/lang with an unknown code', [['en', 'zh-hant']]], languageAuto: '/lang auto',
  busy: '/busy, by the way that is chosen', busyButtons: 'the buttons of /busy',
  undoButton: ['under an answer for which something was changed', [1]],
  reminders: {
    title: ['/reminders', [3], [1]], none: '/reminders, with none',
    line: ['a line of /reminders, behind its time', ['', 'Water the plants']],
    again: ['how a reminder repeats', [MONDAYS, 'Asia/Taipei'], [{ everyMinutes: 120 }, '']],
    cancelButton: ['a button of /reminders', [2]], cancelled: ['after a press on it', ['Water the plants']],
    unknown: 'a press about a reminder that is over',
    restored: 'a reminder that was cancelled is set again; the reminder follows',
    full: ['the same, where there are too many', [50]],
    setForLater: 'below an answer for which reminders were set; a list follows',
    cancelledByModel: 'below an answer for which reminders were cancelled; a list follows',
    usage: '/reminders with unknown words',
    plain: ['a reminder that the model did not put into words', ['Water the plants']],
    dueAt: ['the time of a late reminder', [NIGHT, 0], [NIGHT, 1], [NIGHT, 3]],
    late: ['above a late reminder', [NIGHT]],
    lateTogether: ['above several late reminders', [`${NIGHT}: Water the plants`]],
    behindQuestion: ['a reminder is due while a question waits', ['Water the plants']],
    waiting: ['a reminder is due while the model does not answer', ['Water the plants']],
    left: ['a group got a new id on another shard', [['Water the plants']]],
  },
  memory: {
    title: ['/memory', [4, 10], [1, 2]], none: '/memory, with nothing in it',
    from: 'behind a line that nobody of the chat said', deleteButton: ['a button of /memory', [1]],
    deleteAllButton: 'a button of /memory', deleted: ['after a press on it', ['Ann is a vegetarian']],
    deletedAll: 'after a press on the button for all', unknown: 'a press about a line that is gone',
    asks: ['before all is deleted', [4], [1]],
    changed: 'below an answer for which the memory was changed; a list follows',
    remembered: ['a line of that list', ['Ann is a vegetarian']],
    replaced: ['a line of that list', ['Ann is a vegan', 'Ann is a vegetarian']],
    restored: ['after a press on "Undo"', ['Ann is a vegetarian']], tooLate: 'a press on "Undo" comes too late',
    full: 'there is no room to undo a change', exported: 'the title in the file of /export',
    usage: '/memory with unknown words', left: ['a group got a new id on another shard', ['1. Ann is a vegetarian']],
  },
  chats: {
    title: ['/chats', [3], [1]], none: '/chats, with nothing said so far',
    line: ['a line of /chats', ['1. Trip to Tainan', '34', '2026-11-22', '2026-11-24'], ['2. Hello', '1', '2026-11-22', '2026-11-22']],
    isPresent: 'behind the conversation that is open now', noWords: 'in place of the first words, if there are none',
    continueButton: ['a button of /chats', [2]], olderButton: 'a button of /chats, behind ten conversations',
    backButton: 'the button below the notice of a fresh session', continued: ['after a press on it', ['Trip to Tainan']],
    isHere: 'the same press once more', gone: 'a press about a conversation that was erased',
    named: ['/chats name', ['Trip to Tainan']], unnamed: '/chats name, without a name',
  },
  timeZoneIs: ['/timezone', ['Asia/Taipei', NIGHT]], timeZoneSet: ['/timezone with a name', ['Asia/Taipei', NIGHT]],
  timeZoneUnknown: ['/timezone with an unknown name', ['Taipeh']], recallUsage: '/recall without words',
  recalled: ['/recall', [5], [1]], nothingRecalled: '/recall, with no match',
  recalledInPart: 'below the matches, if a search was cut', recallFailed: '/recall, when the search failed',
  exported: ['/export', ['1,204'], ['1']], exportedReadable: 'the caption of chat.md',
  nothingToExport: '/export, with nothing to export', exportTooLarge: '/export, with more than a file can hold',
  forgetAsks: '/forget', forgetButton: 'its button', forgotten: 'after a press on it', start: '/start',
  helpTitle: '/help', helpVoice: '/help, where speech is understood', helpReminders: '/help',
  helpInGroups: '/help and /start in a group', helpPrivacy: 'the same, where privacy mode is on',
  menu: 'the menu of commands, and /help',
};
