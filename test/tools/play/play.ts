import type { ClaudeStandIn } from '../../stand-in/claude/server.ts';
import type { TelegramStandIn } from '../../stand-in/telegram/server.ts';
import { COMMANDS, type Stage } from './commands.ts';
import type { PlayedGateway } from './gateway.ts';
import { PlayedModel } from './model.ts';
import { ALERT_CHAT, GROUP, PRIVATE_CHAT, readSpeech, send } from './people.ts';
import { Screen } from './screen.ts';

const QUIET_MS = 2_000;

/** A conversation with the bot in lines of text. */
export class Play {
  readonly #stage: Stage;
  readonly #claude: ClaudeStandIn;
  readonly #print: (text: string) => void;
  #lastLineAt = Date.now();
  hasQuit = false;

  constructor(
    claude: ClaudeStandIn,
    telegram: TelegramStandIn,
    gateway: PlayedGateway | undefined,
    print: (text: string) => void,
  ) {
    this.#claude = claude;
    this.#print = print;
    this.#stage = { telegram, gateway, model: new PlayedModel(claude), screen: new Screen(telegram, print) };
    telegram.openChat(PRIVATE_CHAT);
    telegram.openChat(ALERT_CHAT);
    telegram.openChat(GROUP, 'supergroup');
  }

  /** Takes one typed line; false when it was the last. */
  async take(line: string): Promise<boolean> {
    this.#lastLineAt = Date.now();
    const [, name, words = ''] = /^:(\w*)\s*(.*)$/.exec(line) ?? [];
    const { telegram } = this.#stage;
    if (name !== undefined) await this.#obey(name, words);
    else if (line !== '') await send(telegram, readSpeech(line, telegram.username), 'text');
    return !this.hasQuit;
  }

  /** Resolves once nothing has happened for two seconds: no request at work, no news from the bot. */
  quiet(): Promise<void> {
    const { screen } = this.#stage;
    return new Promise((resolve) => {
      const look = (): void => {
        const leftMs = Math.max(this.#lastLineAt, screen.lastCallAt) + QUIET_MS - Date.now();
        if (leftMs <= 0 && this.#claude.inFlight() === 0 && !screen.isPrinting) resolve();
        else setTimeout(look, Math.max(leftMs, 50));
      };
      look();
    });
  }

  close(): void {
    this.#stage.screen.close();
  }

  async #obey(name: string, words: string): Promise<void> {
    const command = COMMANDS.get(name);
    if (name === 'quit') this.hasQuit = true;
    const result = await command?.run(this.#stage, words);
    if (command === undefined) this.#print(`  (there is no :${name}; :help lists what there is)\n`);
    else this.#print(`  (${result ?? `it is typed as ${command.usage}`})\n`);
  }
}
