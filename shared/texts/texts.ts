import type { EN } from './en.ts';

/** The texts of one language. Each language is one table of this type, so none can lack a text. */
export type Texts = typeof EN;

/** Why a user's file cannot be shown to the model. */
export type FileProblem = keyof Texts['fileProblem'];
