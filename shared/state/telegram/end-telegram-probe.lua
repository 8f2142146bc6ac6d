-- Stores the result of a probe and releases its lease. A successful probe counts even if the lease has expired; a failed one
-- counts only for the lease's owner. A successful probe makes the next pauses short again, unless the last ARGV 3 sends ended
-- in doubt, i.e. without Telegram's own answer.
-- KEYS  1 telegram
-- ARGV  1 owner   2 '' if Telegram answered, else the failure   3 number of sends in doubt in a row that opens the breaker
--       4 first pause, ms   5 longest pause, ms
-- Reply {ms since the epoch, ms for which nothing may be sent, time at which the breaker opened, time of the last answer}; each
--       of the last three is 0 if it does not apply
-- include: time, telegram
local now = now_ms()
local is_owner = redis.call('HGET', KEYS[1], 'prober') == ARGV[1]
if is_owner then
  redis.call('HDEL', KEYS[1], 'prober', 'proberUntilMs')
end
if ARGV[2] == '' then
  redis.call('HSET', KEYS[1], 'answeredMs', now)
  telegram_back(KEYS[1])
  if tonumber(redis.call('HGET', KEYS[1], 'doubts') or 0) < tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], 'found')
  end
elseif is_owner then
  telegram_away(KEYS[1], now, ARGV[2], ARGV[4], ARGV[5])
end
return telegram_state(KEYS[1], now)
