import { readFile } from 'node:fs/promises';
import { type Prices, readPrices } from './prices.ts';

/**
 * The operator's own prices from the file that MODEL_PRICES_FILE names; none without a file. Rejects with every problem
 * of the file at once, so a typo is found at the start and not in a bill.
 */
export async function loadPrices(file: string | undefined): Promise<Prices> {
  if (file === undefined || file.trim() === '') return new Map();
  const json = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (json === '') throw new Error('MODEL_PRICES_FILE names a file that is empty or cannot be read.');
  const reading = readPrices(json);
  if (!reading.ok) throw new Error(`MODEL_PRICES_FILE is malformed:\n${reading.problems.join('\n')}`);
  return reading.prices;
}
