import { setTimeout as pause } from 'node:timers/promises';

/** A colour of the lamp, with its first line. */
interface Turn {
  colour: string;
  line: string;
  /** Seconds after the fault. */
  atS: number;
}

const EVERY_MS = 250;

/** Watches the lamp of a running gateway, as `/readyz` has it. */
export class Lamp {
  readonly turns: Turn[] = [];
  #faultMs: number | undefined;
  #isOn = true;

  /** Now something is broken; only the first call counts. */
  fault(): void {
    this.#faultMs ??= performance.now();
  }

  /** Watches until `stop`; `port` is where the gateway listens just now. */
  async watch(port: () => number): Promise<void> {
    while (this.#isOn) {
      const detail = await detailAt(port()).catch(() => undefined);
      if (detail !== undefined && this.#faultMs !== undefined) this.#note(detail, this.#faultMs);
      await pause(EVERY_MS);
    }
  }

  stop(): void {
    this.#isOn = false;
  }

  #note(detail: string, faultMs: number): void {
    const [, colour = detail, line = ''] = /^(\w+)(?:: (.*))?$/s.exec(detail) ?? [];
    const last = this.turns.at(-1);
    // The age in a line changes with each look.
    const worded = line.replace(/ Runbook: [\w-]+$/, '').replaceAll(/\d+(?=(?: seconds?| s\b))/g, 'N');
    if (last?.colour !== colour || last.line !== worded)
      this.turns.push({ colour, line: worded, atS: (performance.now() - faultMs) / 1_000 });
  }
}

async function detailAt(port: number): Promise<string | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2_000) });
  const { parts } = (await answer.json()) as { parts: Record<string, { detail?: string }> };
  return parts.installation?.detail;
}
