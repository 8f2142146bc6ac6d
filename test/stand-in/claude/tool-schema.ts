import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Breach, breach } from './breach.ts';
import { isObject } from './request.ts';

const PROPERTY_KEY = /^[a-zA-Z0-9_.-]{1,64}$/;
const draft = new Ajv2020({ strict: false, logger: false, validateFormats: false });

/**
 * What the API says of a tool's schema: an object at the top, no choice there, plain names of properties, and the rest as
 * JSON Schema 2020-12 has it, whatever draft the schema says it is.
 */
export function checkInputSchema(schema: unknown, path: string): Breach | undefined {
  if (!isObject(schema) || schema.type !== 'object') return breach(25, `${path}.type: Input should be 'object'`);
  if (['oneOf', 'allOf', 'anyOf'].some((choice) => choice in schema)) {
    return breach(25, `${path}: input_schema does not support oneOf, allOf, or anyOf at the top level`);
  }
  const { $schema: _, ...bare } = schema;
  if (draft.validateSchema(bare) !== true) {
    return breach(
      25,
      `${path}: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.`,
    );
  }
  const odd = Object.keys(isObject(schema.properties) ? schema.properties : {}).some((key) => !PROPERTY_KEY.test(key));
  return odd
    ? breach(25, `${path}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`)
    : undefined;
}
