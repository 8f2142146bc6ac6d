import { bundlePrograms } from '../fixture/programs.ts';
import setUpRedis from './redis-setup.ts';

/** Runs once before all suites: what each of them would look for or make is found and made here. */
export default async function setUp(): Promise<void> {
  await Promise.all([setUpRedis(), bundlePrograms()]);
}
