-- Records that the model refused a chat as too long. Returns whether the chat may be recovered now. If many are refused
-- within a short time, the window is wrong and not the chats: then one chat at a time continues as a probe.
-- KEYS  1 overflows   2 storm   3 alerts
-- ARGV  1 chat   2 entry   3 ms within which chats are counted   4 chats that make a storm   5 ms that a probe may take
--       6 alert (JSON), queued once for each message; '{chats}' in it becomes their number
-- Reply 'go' | 'probe' | 'wait'
-- include: time
local now = now_ms()
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local chats = redis.call('ZCARD', KEYS[1])
local storm = redis.call('HMGET', KEYS[2], 'probe', 'probeUntilMs', 'restUntilMs', 'calmUntilMs')
local probe, probe_until = storm[1], tonumber(storm[2] or 0)
local rest_until, calm_until = tonumber(storm[3] or 0), tonumber(storm[4] or 0)
if calm_until > now or (chats < tonumber(ARGV[4]) and redis.call('HEXISTS', KEYS[2], 'sinceMs') == 0) then
  return 'go'
end
redis.call('HSETNX', KEYS[2], 'sinceMs', now)
if redis.call('HSETNX', KEYS[2], 'told:' .. ARGV[2], 1) == 1 then
  redis.call('XADD', KEYS[3], '*', 'alert', (ARGV[6]:gsub('{chats}', chats)))
end
redis.call('PEXPIRE', KEYS[2], 2 * tonumber(ARGV[3]))
if probe ~= ARGV[2] and ((probe and probe_until > now) or rest_until > now) then
  return 'wait'
end
redis.call('HSET', KEYS[2], 'probe', ARGV[2], 'probeUntilMs', now + tonumber(ARGV[5]))
return 'probe'
