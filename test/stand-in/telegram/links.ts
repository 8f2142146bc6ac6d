const PLAIN = /^[\w.\-!$,~*'();&+=%\u0080-\u{10ffff}]+$/u;

/** Why the server takes a text for no link, in its words; undefined for a link. */
export function wrongLink(link: string): string | undefined {
  const own = /^(tg|ton|tonsite):(?:\/\/)?(.*)$/is.exec(link);
  if (own !== null) return wrongAppLink(own[1] ?? '', own[2] ?? '');
  const host = hostOf(link);
  if ('wrong' in host) return host.wrong;
  return host.name.includes('.') || host.name.startsWith('[') ? undefined : 'Wrong HTTP URL';
}

function wrongAppLink(scheme: string, rest: string): string | undefined {
  const host = /^[^/?#]*/.exec(rest)?.[0] ?? '';
  if (host === '') return 'URL host is empty';
  const allowed = scheme.toLowerCase() === 'tonsite' ? /^[\w.-]+$/ : /^[\w-]+$/;
  return allowed.test(host) ? undefined : 'Unallowed characters in URL host';
}

function hostOf(link: string): { name: string } | { wrong: string } {
  const scheme = /^([^:/?#@[\]]*):\/\//.exec(link);
  if (scheme !== null && !/^https?$/i.test(scheme[1] ?? '')) return { wrong: 'Unsupported URL protocol' };
  const place = /^[^/?#]*/.exec(link.slice(scheme?.[0].length ?? 0))?.[0] ?? '';
  const [, address = '', port] = /^(.+?)(?::([^:\]@]*))?$/s.exec(place) ?? [];
  if (port !== undefined && !(Number(port) > 0 && Number(port) <= 65_535)) {
    return { wrong: 'Wrong port number specified in the URL' };
  }
  const name = address.slice(address.lastIndexOf('@') + 1);
  if (name === '') return { wrong: 'URL host is empty' };
  if (name === '.') return { wrong: 'Host is invalid' };
  return name.startsWith('[') || PLAIN.test(name) ? { name } : { wrong: 'Disallowed character in URL host' };
}
