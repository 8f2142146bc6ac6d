-- Ends an archivist's visit to a session, unless more records may leave its log than when the visit began.
-- KEYS  1 session   2 log   3 archive   4 archivable
-- ARGV  1 session's id   2 windowStart, or ''   3 closedBy, or '', both as read   4 seconds to keep a closed session
-- Reply 1, or 0 when the session changed since: then nothing changed
local closed = redis.call('HGET', KEYS[1], 'closedBy') or ''
if (redis.call('HGET', KEYS[1], 'windowStart') or '') ~= ARGV[2] or closed ~= ARGV[3] then
  return 0
end
if closed ~= '' then
  for i = 1, 3 do
    redis.call('EXPIRE', KEYS[i], ARGV[4])
  end
end
redis.call('SREM', KEYS[4], ARGV[1])
return 1
