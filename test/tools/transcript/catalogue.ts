import type { Scene } from './scene.ts';
import { ANSWERS } from './scenes/answers.ts';
import { ASKING } from './scenes/asking.ts';
import { COMMANDS } from './scenes/commands.ts';
import { GROUPS } from './scenes/groups.ts';
import { ON_CALL } from './scenes/on-call.ts';
import { TROUBLE } from './scenes/trouble.ts';

/** Every scene, in the order of the page. */
export const SCENES: readonly Scene[] = [...ANSWERS, ...ASKING, ...GROUPS, ...COMMANDS, ...TROUBLE, ...ON_CALL];
