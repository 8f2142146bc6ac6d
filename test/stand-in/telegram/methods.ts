/** The Bot API methods that a gateway needs. */
import type { Method } from './desk.ts';
import { menuOf, readItems } from './menus.ts';
import { asFlag, asInteger, asJson, asText, type Params } from './params.ts';
import { badRequest } from './refusal.ts';
import { SENDING } from './sending.ts';

function kinds(params: Params): string[] | undefined {
  const value = asJson(params.allowed_updates);
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw badRequest("can't parse allowed_updates: expected an Array of String");
  return value.map(String);
}

const getUpdates: Method = (desk, params, gone) => {
  desk.webhook.refusePolling();
  desk.updates.allow(kinds(params));
  return desk.updates.poll(
    {
      offset: asInteger(params.offset) ?? 0,
      limit: asInteger(params.limit) ?? 100,
      timeoutS: asInteger(params.timeout) ?? 0,
    },
    gone,
  );
};

const setWebhook: Method = (desk, params) => {
  const allowed = kinds(params);
  desk.webhook.set(asText(params.url) ?? '', asText(params.secret_token));
  desk.updates.allow(allowed);
  if (asFlag(params.drop_pending_updates)) desk.updates.drop();
  return true;
};

const deleteWebhook: Method = (desk, params) => {
  desk.webhook.set('', undefined);
  if (asFlag(params.drop_pending_updates)) desk.updates.drop();
  return true;
};

const setMyCommands: Method = ({ menus, chats }, params) => {
  const items = readItems(params.commands);
  const { scope, language } = menuOf(params, chats);
  menus.set(scope, language, items);
  return true;
};

const answerCallbackQuery: Method = ({ queries }, { callback_query_id, text, show_alert }) => {
  queries.answer(asText(callback_query_id) ?? '', asText(text), asFlag(show_alert));
  return true;
};

const answerGuestQuery: Method = ({ summonses, version }, params) => summonses.answer(params, version);

const getMe: Method = ({ bot, hasPrivacy, isGuest }) => ({
  ...bot,
  can_join_groups: true,
  can_read_all_group_messages: !hasPrivacy,
  supports_guest_queries: isGuest,
});

const METHODS: Readonly<Record<string, Method>> = {
  ...SENDING,
  getme: getMe,
  getupdates: getUpdates,
  setmycommands: setMyCommands,
  answercallbackquery: answerCallbackQuery,
  answerguestquery: answerGuestQuery,
  getfile: ({ files }, params) => files.describe(asText(params.file_id) ?? ''),
  setwebhook: setWebhook,
  deletewebhook: deleteWebhook,
  getwebhookinfo: ({ webhook, updates }) => webhook.info(updates.pending(), updates.allowed),
};

/** The method of that name; names are read without regard to case, as the API reads them. */
export function methodNamed(name: string): Method | undefined {
  return Object.hasOwn(METHODS, name.toLowerCase()) ? METHODS[name.toLowerCase()] : undefined;
}
