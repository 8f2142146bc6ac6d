import { isAboutData } from '../alerts/redis-trouble.ts';

/**
 * Reads parts of which one that cannot be read blinds nobody for the others: it throws where it is used. Rejects when
 * Redis cannot be reached.
 */
export async function standingAlone<T extends object>(parts: { [Part in keyof T]: Promise<T[Part]> }): Promise<T> {
  const names = Object.keys(parts) as (keyof T)[];
  const read = await Promise.allSettled(names.map((name) => parts[name]));
  const errors = read.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  const lost = errors.find((error) => !isAboutData(error));
  if (lost !== undefined) throw lost;
  return Object.defineProperties({}, Object.fromEntries(names.map((name, at) => [name, propertyOf(read[at])]))) as T;
}

function propertyOf(read: PromiseSettledResult<unknown> | undefined): PropertyDescriptor {
  return {
    enumerable: true,
    get() {
      if (read?.status === 'rejected') throw read.reason;
      return read?.value;
    },
  };
}
