import type { TelegramStandIn } from '../../stand-in/telegram/server.ts';
import type { PlayedGateway } from './gateway.ts';
import { ACTS, type PlayedModel } from './model.ts';
import { presserOf, readSpeech, send } from './people.ts';
import type { Screen } from './screen.ts';

/** Everything on which a command can act. */
export interface Stage {
  readonly telegram: TelegramStandIn;
  readonly model: PlayedModel;
  readonly screen: Screen;
  /** Undefined where the gateway is started by hand. */
  readonly gateway: PlayedGateway | undefined;
}

/** A line that begins with a colon. */
interface Command {
  readonly usage: string;
  readonly does: string;
  /** Acts on the words behind the command. Returns what to print; undefined where the words are wrong. */
  run(stage: Stage, words: string): string | undefined | Promise<string | undefined>;
}

const acts = Object.entries(ACTS).map(([name, { does }]): [string, Command] => [
  name,
  {
    usage: `:${name}`,
    does: `before its next answer the model ${does}`,
    run: ({ model }) => {
      model.act(name);
      return `before its next answer the model ${does}`;
    },
  },
]);

/** A command with a choice of words, each with its effect and what is printed then. */
function choice(usage: string, does: string, choices: Record<string, [string, (stage: Stage) => unknown]>): Command {
  return {
    usage,
    does,
    async run(stage, words) {
      const [printed, act] = choices[words] ?? [];
      await act?.(stage);
      return printed;
    },
  };
}

/** By the word behind the colon, in the order of `:help`. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries({
    press: { usage: ':press N [ben]', does: 'presses the button [N]; in the group as Ann, or as Ben', run: press },
    reply: {
      usage: ':reply [ben:] words',
      does: "replies to the bot's last message in that chat",
      async run({ telegram }, words) {
        const speech = readSpeech(words, telegram.username);
        const replyTo = telegram.shown(speech.chatId).at(-1)?.messageId;
        if (replyTo === undefined) return 'the bot has said nothing there';
        await send(telegram, speech, 'text', replyTo);
        return 'replied';
      },
    },
    photo: { usage: ':photo [ben:] words', does: 'sends a picture with a caption', run: sendsFile('photo') },
    file: { usage: ':file [ben:] words', does: 'sends a long text file with a caption', run: sendsFile('file') },
    ...Object.fromEntries(acts),
    cut: {
      usage: ':cut',
      does: 'the next answer is cut at the limit of its length; a button asks again',
      run({ model }) {
        model.cutNext();
        return 'the next answer is cut';
      },
    },
    overflow: {
      usage: ':overflow [5|off]',
      does: 'the window shrinks to half of the newest request; after :file, 5 percent is too small for a summary, too',
      run({ model }, words) {
        if (words === 'off') return `the window has ${model.widen()} tokens again`;
        const percent = words === '' ? 50 : Number(words);
        if (!Number.isInteger(percent) || percent < 1) return undefined;
        return `the window has ${model.shrink(percent / 100)} tokens now`;
      },
    },
    claude: choice(':claude away|back', 'every request to the model fails as overloaded, or none does', {
      away: ['the model is overloaded; what you write now waits', ({ model }) => model.become('overloaded')],
      back: ['the model answers again', ({ model }) => model.become('well')],
    }),
    key: choice(':key bad|good', 'the API key is refused, or accepted', {
      bad: [
        'the key is refused; what you write now fails, and the operator can replay it',
        ({ model }) => model.become('refuses the key'),
      ],
      good: ['the key is accepted', ({ model }) => model.become('well')],
    }),
    telegram: choice(':telegram away|back', 'every call to Telegram fails, or none does', {
      away: ['Telegram fails every call', ({ telegram }) => telegram.goAway('server error')],
      back: ['Telegram works again', ({ telegram }) => telegram.comeBack()],
    }),
    kill: {
      usage: ':kill',
      does: 'kills the gateway with kill -9, and starts it again',
      async run({ gateway }) {
        if (gateway === undefined) return 'the gateway runs in another terminal: kill it there';
        await gateway.restart();
        return 'the gateway was killed, and starts again';
      },
    },
    help: { usage: ':help', does: 'prints this', run: () => `what can be typed:\n\n${help()}` },
    quit: { usage: ':quit', does: 'ends', run: () => 'the end' },
  }),
);

/** All that can be typed. */
export function help(): string {
  const lines = [
    ['hello', 'Ann writes in her private chat with the bot'],
    ['ben: hello @bot', 'Ben (or ann, cleo) writes in the group, where the bot answers mentions, replies and commands'],
    ['olga: /status', 'the operator writes in the alert chat'],
    ['dora: hello', 'Dora, whom nobody has let in, writes to the bot in private'],
    ...[...COMMANDS.values()].map(({ usage, does }) => [usage, does]),
  ];
  return lines.map(([usage = '', does]) => `  ${usage.padEnd(21)}${does}\n`).join('');
}

function press({ telegram, screen }: Stage, words: string): string | undefined {
  const [, number, name] = /^(\d+)(?:\s+(\w+))?$/.exec(words) ?? [];
  if (number === undefined) return undefined;
  const button = screen.button(Number(number));
  if (button === undefined) return `there is no button ${number} now; each shown button has its number in [brackets]`;
  telegram.press(button.chatId, button.messageId, button.data, presserOf(button.chatId, name));
  return `pressed "${button.label}"`;
}

function sendsFile(kind: 'photo' | 'file'): Command['run'] {
  return async ({ telegram }, words) => {
    await send(telegram, readSpeech(words, telegram.username), kind);
    return 'sent';
  };
}
