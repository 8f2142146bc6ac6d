import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { HOME, IS_BUILT, PROJECT_ROOT } from '../shared/base/project.ts';
import type { RunStep } from './progress.ts';

const FILE = 'spillway.service';
/** Where a service writes. */
const OWN = ['data', '.cache'];
const COMPILED = '.cache/compiled';

/** The parts of a service. */
export interface Service {
  user: string;
  /** Where it works, with its data. */
  folder: string;
  node: string;
  /** What Node runs, a whole path or one from the folder. */
  program: string;
  /** The settings file. */
  envFile: string;
}

/** Offers a systemd unit. Installs nothing. */
export const offerUnit: RunStep = async ({ terminal, file }) => {
  if (process.platform !== 'linux') return {};
  const place = join(dirname(file), FILE);
  const choice = await terminal.choose('A systemd unit, to run the gateway as a service?', [
    { value: 'no', label: 'No' },
    { value: 'write', label: `Write ${place}`, hint: 'it is not installed' },
    { value: 'print', label: 'Print it' },
  ]);
  if (choice === 'no') return {};
  // A unit does not start without a folder that it may write to, and one that is missing is not protected.
  for (const name of [...OWN, COMPILED]) await mkdir(join(HOME, name), { recursive: true, mode: 0o700 });
  const text = unitOf({
    user: userInfo().username,
    folder: HOME.replace(/\/$/, ''),
    node: process.execPath,
    program: IS_BUILT ? join(PROJECT_ROOT, 'spillway.js') : 'spillway.ts',
    envFile: file,
  });
  if (choice === 'print') {
    terminal.say(text);
    return {};
  }
  if (existsSync(place) && !(await terminal.confirm(`${place} exists. Replace it?`, false))) return {};
  await writeFile(place, text);
  terminal.good(
    `${place} is written. To install it:\nsudo install -m 644 ${place} /etc/systemd/system/ && sudo systemctl enable --now spillway`,
  );
  return {};
};

/** A unit that runs the gateway from its folder. Pure. */
export function unitOf({ user, folder, node, program, envFile }: Service): string {
  return `[Unit]
Description=Spillway, a Telegram gateway to Claude
Wants=network-online.target
After=network-online.target redis-server.service

[Service]
User=${plain(user)}
WorkingDirectory=${plain(folder)}
Environment=${quoted(`SPILLWAY_ENV_FILE=${envFile}`)}
ExecStart=${[node, program].map((word) => quoted(word).replaceAll('$', '$$$$')).join(' ')}
Restart=always
RestartSec=2
# 2 means that the configuration is wrong: another start would not help.
RestartPreventExitStatus=2
# Running turns get 25 s; the process ends itself after 35 s.
TimeoutStopSec=40
# SIGTERM goes to the gateway alone; it ends the tool servers that it started.
KillMode=mixed
# A decoder that the kernel ends for its memory fails its file; the gateway stays.
OOMPolicy=continue
NoNewPrivileges=yes
ProtectSystem=strict
# The files of the chats are there, without REDIS_URL the data too, and a Redis that had to be fetched.
ReadWritePaths=${OWN.map((name) => quoted(join(folder, name))).join(' ')}
# What other commands run: a service that was taken over cannot change it.
ReadOnlyPaths=${quoted(`-${join(folder, COMPILED)}`)}
PrivateTmp=yes
PrivateDevices=yes

[Install]
WantedBy=multi-user.target
`;
}

/** A percent sign begins a specifier. */
function plain(text: string): string {
  return text.replaceAll('%', '%%');
}

function quoted(text: string): string {
  return `"${plain(text).replace(/["\\]/g, '\\$&')}"`;
}
