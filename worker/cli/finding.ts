/** What a check found out about one part. */
export interface Finding {
  part: string;
  ok: boolean;
  /** Text for the operator; never a secret. */
  detail: string;
}
