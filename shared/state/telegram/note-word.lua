-- Notes how a send ended, if one did: Telegram confirmed the message, or it ended without Telegram's word. So many of the
-- latter in a row, with no message confirmed in between, mean that Telegram is away, whatever else it answers.
-- KEYS  1 telegram
-- ARGV  1 'confirmed' | 'doubt' | '' to look only   2 why   3 how many doubts are enough   4 first pause, ms   5 longest pause, ms
-- Reply see telegram_state
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
