-- Stores the result of a send or an edit, if any, and returns the state of Telegram. `doubt`: a send ended without Telegram's
-- own answer. ARGV 3 doubts without a confirmation between them open the breaker, even if Telegram answers other calls.
-- KEYS  1 telegram
-- ARGV  1 'confirmed' | 'doubt' | '' to read only   2 the failure of a send in doubt, else ''
--       3 number of doubts that opens the breaker   4 first pause, ms   5 longest pause, ms
-- Reply {ms since the epoch, ms for which nothing may be sent, time at which the breaker opened, time of the last answer}; each
--       of the last three is 0 if it does not apply
-- include: time, telegram
local now = now_ms()
if ARGV[1] == 'confirmed' then
  redis.call('HSET', KEYS[1], 'answeredMs', now)
  redis.call('HDEL', KEYS[1], 'doubts', 'doubtSinceMs', 'doubtMs', 'doubtWhy', 'found')
  telegram_back(KEYS[1])
elseif ARGV[1] == 'doubt' then
  local doubts = redis.call('HINCRBY', KEYS[1], 'doubts', 1)
  redis.call('HSETNX', KEYS[1], 'doubtSinceMs', now)
  redis.call('HSET', KEYS[1], 'doubtMs', now, 'doubtWhy', ARGV[2])
  if doubts >= tonumber(ARGV[3]) and redis.call('HEXISTS', KEYS[1], 'awaySinceMs') == 0 then
    telegram_away(KEYS[1], now, ARGV[2], ARGV[4], ARGV[5])
  end
end
return telegram_state(KEYS[1], now)
