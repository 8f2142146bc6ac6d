import type { Params } from './params.ts';

/** What this stand-in knows of the Bot API. */
export const NEWEST = '10.3';

/** The version that a method came with; the others are older than anything here. */
const METHODS: Readonly<Record<string, string>> = {
  answerguestquery: '10.0',
  sendmessagedraft: '9.3',
  sendrichmessage: '10.1',
  sendrichmessagedraft: '10.1',
};

/** The version that a parameter came with, by method. */
const PARAMETERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  editmessagetext: { rich_message: '10.1' },
  sendmessagedraft: { can_stop: '10.3', keep_on_stop: '10.3' },
  sendrichmessagedraft: { can_stop: '10.3', keep_on_stop: '10.3' },
};

const rank = (version: string): number => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major * 1000 + minor;
};

/** How old a server is: it answers 404 to methods that came later, and ignores parameters that did, without a word. */
export class ApiVersion {
  readonly #rank: number;

  constructor(version: string) {
    this.#rank = rank(version);
  }

  /** Whether the server is of that version, or a later one. */
  knows(since: string): boolean {
    return this.#rank >= rank(since);
  }

  offers(method: string): boolean {
    return this.knows(METHODS[method.toLowerCase()] ?? '0');
  }

  /** The parameters that this server reads. */
  known(method: string, params: Params): Params {
    const later = PARAMETERS[method.toLowerCase()] ?? {};
    return Object.fromEntries(Object.entries(params).filter(([name]) => this.knows(later[name] ?? '0')));
  }
}
