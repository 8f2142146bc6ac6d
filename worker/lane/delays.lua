-- Corrects the delays of jobs by the time of Redis. BullMQ starts a delay by the clock of the process that sets it, and
-- ends it by the clock of one that looks for jobs. A delay that seems to begin in the future begins now, so it only
-- ever gets shorter. A long overdue one that no process has picked up is returned, for the caller to end.
-- KEYS  1 delayed   2 marker, which wakes who waits for jobs   3 absent, for the keys that are not named: see keys.ts
-- ARGV  1 prefix of job keys   2 ms by which clocks may differ   3 most jobs of each kind
-- Reply {number of delays that begin now, {id of each job whose delay is over, …}}
-- include: time
local UNITS = 0x1000
local now = now_ms()
local slack = tonumber(ARGV[2])

local corrected = 0
local far = string.format('%.0f', (now + slack) * UNITS)
local seen = redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', far, 'WITHSCORES', 'LIMIT', 0, ARGV[3])
for at = 1, #seen, 2 do
  local id, due = seen[at], math.floor(tonumber(seen[at + 1]) / UNITS)
  local delay = tonumber(redis.call('HGET', ARGV[1] .. id, 'delay') or '')
  if delay and due - delay > now + slack then
    redis.call('ZADD', KEYS[1], string.format('%.0f', (now + delay) * UNITS), id)
    corrected = corrected + 1
  end
end
if corrected > 0 then
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  redis.call('ZADD', KEYS[2], math.floor(tonumber(first[2]) / UNITS), '1')
end

local late = string.format('%.0f', (now - slack) * UNITS)
return { corrected, redis.call('ZRANGEBYSCORE', KEYS[1], 0, late, 'LIMIT', 0, ARGV[3]) }
