-- Begins an attempt at a message: takes the fence, so that every earlier attempt can change nothing any more.
-- KEYS  1 inbound   2 turn   3 lane   4 chat
-- ARGV  1 entry   2 id for a session, used when the chat has none yet   3 prefix of session keys
-- Reply {'settled', head | '', its traceparent}   the entry is gone: its outcome is written
--       {'waiting', head, its traceparent}        another message of the chat comes first
--       {'begun', entry fields, turn fields, session id, session fields, calibration | ''}
local function traceparent_of(entry)
  local found = redis.call('XRANGE', KEYS[1], entry, entry)
  for i = 1, found[1] and #found[1][2] or 0, 2 do
    if found[1][2][i] == 'traceparent' then
      return found[1][2][i + 1]
    end
  end
  return ''
end

local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])
local head = redis.call('LINDEX', KEYS[3], 0)
if not found[1] then
  return { 'settled', head or '', head and traceparent_of(head) or '' }
end
if head and head ~= ARGV[1] then
  return { 'waiting', head, traceparent_of(head) }
end
redis.call('HINCRBY', KEYS[2], 'fence', 1)
redis.call('HINCRBY', KEYS[2], 'attempts', 1)
redis.call('HSETNX', KEYS[4], 'session', ARGV[2])
local session = redis.call('HGET', KEYS[4], 'session')
return {
  'begun',
  found[1][2],
  redis.call('HGETALL', KEYS[2]),
  session,
  redis.call('HGETALL', ARGV[3] .. session),
  redis.call('HGET', KEYS[4], 'calibration') or '',
}
