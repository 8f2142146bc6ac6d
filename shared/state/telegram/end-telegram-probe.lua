-- Notes how a probe ended, and gives its lease back. One that answered is true whoever holds the lease by now; of one that
-- did not, only the holder's counts. As long as sends are in doubt the pauses go on growing, whatever a probe says.
-- KEYS  1 telegram
-- ARGV  1 owner   2 '' when Telegram answered, or why not   3 how many doubts are enough   4 first pause, ms
--       5 longest pause, ms
-- Reply see telegram_state
-- include: time, telegram
local now = now_ms()
local isOurs = redis.call('HGET', KEYS[1], 'prober') == ARGV[1]
if isOurs then
  redis.call('HDEL', KEYS[1], 'prober', 'proberUntilMs')
end
if ARGV[2] == '' then
  redis.call('HSET', KEYS[1], 'answeredMs', now)
  telegram_back(KEYS[1])
  if tonumber(redis.call('HGET', KEYS[1], 'doubts') or 0) < tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], 'found')
  end
elseif isOurs then
  telegram_away(KEYS[1], now, ARGV[2], ARGV[4], ARGV[5])
end
return telegram_state(KEYS[1], now)
