/** The schemas of tools, judged as the API judges them: by JSON Schema, draft 2020-12, whatever draft they claim. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isObject } from './request.ts';
import { type Violation, violation } from './violation.ts';

const DRAFT = 'https://json-schema.org/draft/2020-12';
const PROPERTY_PATTERN = /^[a-zA-Z0-9_.-]{1,64}$/;
const NOT_AT_TOP = ['oneOf', 'allOf', 'anyOf'];

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
/** Whether a value is a schema of the draft. Does not follow references. */
const followsDraft = ajv.getSchema(`${DRAFT}/schema`);

/** Rule 25 for the schema of one tool, which stands at `path`. */
export function checkSchema(schema: unknown, path: string): Violation | undefined {
  if (!isObject(schema)) return violation(25, `${path}: Input should be a valid dictionary`);
  if (schema.type === undefined) return violation(25, `${path}.type: Field required`);
  if (schema.type !== 'object') return violation(25, `${path}.type: Input should be 'object'`);
  if (NOT_AT_TOP.some((key) => schema[key] !== undefined)) {
    return violation(25, `${path}: input_schema does not support oneOf, allOf, or anyOf at the top level`);
  }
  if (followsDraft?.(schema) !== true) {
    return violation(
      25,
      `${path}: JSON schema is invalid. It must match JSON Schema draft 2020-12 (${DRAFT}). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.`,
    );
  }
  const keys = isObject(schema.properties) ? Object.keys(schema.properties) : [];
  return keys.every((key) => PROPERTY_PATTERN.test(key))
    ? undefined
    : violation(25, `${path}.properties: Property keys should match pattern '${PROPERTY_PATTERN.source}'`);
}
