import { expect, test } from '@jest/globals';
import { isHttps, isSameOrigin, pathAfterLogin } from '../../../../worker/console/visit.ts';

test.each([
  [{ fetchSite: 'same-origin', origin: 'https://proxy.example', host: '127.0.0.1:8080' }, true],
  [{ fetchSite: 'none', origin: 'https://a.example', host: 'a.example' }, false],
  [{ fetchSite: 'same-site', origin: 'https://a.example', host: 'a.example' }, false],
  [{ origin: 'https://a.example', host: 'A.example' }, true],
  [{ origin: 'https://a.example:8443', host: 'a.example' }, false],
  [{ origin: 'https://evil.example', host: 'a.example' }, false],
  [{ origin: 'null', host: 'a.example' }, false],
  [{ host: 'a.example' }, false],
  [{}, false],
])('a form with %j is ours: %s', (headers, expected) => {
  expect(isSameOrigin(headers)).toBe(expected);
});

test('https is what the nearest proxy says, and nothing else', () => {
  expect(['https', 'HTTPS, http', 'http', 'http, https', '', undefined].map(isHttps)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

test.each([
  ['/console/message/1-0', '/console/message/1-0'],
  ['/console', '/console'],
  ['/consoles', '/console'],
  ['/console//evil.example', '/console'],
  ['/console/../healthz', '/console'],
  ['/console/\r\nx: y', '/console'],
  ['https://evil.example/console', '/console'],
  ['', '/console'],
])('after a login %j leads to %s', (to, path) => {
  expect(pathAfterLogin(to, '/console')).toBe(path);
});
