/** A plain handler: each update is answered where it is received. */
import { message } from 'telegraf/filters';
import { apologise, log, openBot, run } from './plain.ts';

const { bot, redis, answer } = openBot(process.env);
bot.on(message('text'), async ({ chat, message: { text }, telegram }) => {
  try {
    await answer(chat.id, text);
  } catch (error) {
    log.error({ err: error }, 'not answered');
    await apologise(telegram, chat.id);
  }
});
run({ bot, redis });
