/** The headers by which a browser says where a request comes from. */
export interface RequestOrigin {
  origin?: string | undefined;
  fetchSite?: string | undefined;
  /** The host that the browser asked for: what a proxy passed on, or the request's own. */
  host?: string | undefined;
}

/**
 * Whether a request that changes something was sent by one of our own pages. What the browser itself states counts
 * first; a browser that states nothing is refused. Pure.
 */
export function isSameOrigin({ origin, fetchSite, host }: RequestOrigin): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

/** Whether the browser reached us by https, as the proxy in front of us says. Pure. */
export function isHttps(forwardedProto: string | undefined): boolean {
  return forwardedProto?.split(',')[0]?.trim().toLowerCase() === 'https';
}

/** A path of the console to go to after a login; the first page when it is anything else. Pure. */
export function pathAfterLogin(to: string | undefined, home: string): string {
  const isOurs = to !== undefined && (to === home || to.startsWith(`${home}/`)) && /^[\w/.:%?=&*-]+$/.test(to);
  return isOurs && !to.includes('//') && !to.includes('..') ? to : home;
}
