-- Removes a session from the set of sessions with records to archive. Does nothing if the session has changed since the plan,
-- because more of its records may be archived then.
-- KEYS  1 session   2 log   3 archive   4 archivable
-- ARGV  1 session's id   2 windowStart of the plan, or ''   3 closedBy of the plan, or ''   4 seconds to keep a closed session
-- Reply 1, or 0 if the session has changed since the plan
local closed_by = redis.call('HGET', KEYS[1], 'closedBy') or ''
if (redis.call('HGET', KEYS[1], 'windowStart') or '') ~= ARGV[2] or closed_by ~= ARGV[3] then
  return 0
end
if closed_by ~= '' then
  for i = 1, 3 do
    redis.call('EXPIRE', KEYS[i], ARGV[4])
  end
end
redis.call('SREM', KEYS[4], ARGV[1])
return 1
