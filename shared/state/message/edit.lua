-- Applies an edit to a message if no attempt at it has begun: stores the new version in the turn's field `edited`, which
-- takes precedence over the stream's version. An edit of a message that was never accepted may become a new message. A
-- repeated call changes nothing.
-- KEYS  1 to 5 as in accept.lua   6 absent: a key that never exists; it defers the script while the cluster moves the shard
-- ARGV  1 to 8 as in accept.lua   9 prefix of turn keys   10 update id   11 '1' if the edit may become a new message
-- Reply {'new', entry, number of messages accepted so far} | {'repeated', entry, …}: an earlier call added the entry
--       {'replaced' | 'unchanged' | 'too late' | 'command' (one version is a command) | 'unknown' (never accepted), '', 0}
-- include: counts, entry, inbound, updates
local accepted_entry = redis.call('HGET', KEYS[1], ARGV[7])
if accepted_entry then
  return { 'repeated', accepted_entry, tonumber(redis.call('HGET', KEYS[3], 'accepted') or 0) }
end
local stored_entry = redis.call('GET', KEYS[4])
if not stored_entry then
  if ARGV[11] ~= '1' then
    return { 'unknown', '', 0 }
  end
  local accepted = count(KEYS[3], KEYS[2], 'accepted')
  local entry = add_message(KEYS[2], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
  remember_update(KEYS[1], ARGV[7], entry, ARGV[1])
  expect(KEYS[5], ARGV[8], ARGV[1])
  redis.call('SET', KEYS[4], 'edited:' .. entry, 'EX', ARGV[1])
  return { 'new', entry, accepted }
end

-- Whether two JSON values are equal.
local function is_equal(one, other)
  if type(one) ~= 'table' or type(other) ~= 'table' then
    return one == other
  end
  for key, value in pairs(one) do
    if not is_equal(value, other[key]) then
      return false
    end
  end
  for key in pairs(other) do
    if one[key] == nil then
      return false
    end
  end
  return true
end

-- Whether two versions of a message have the same content. Telegram also reports edits that change nothing a bot can see.
local function is_same(one, other)
  local is_json, a, b = pcall(function()
    return cjson.decode(one).content, cjson.decode(other).content
  end)
  return is_json and is_equal(a, b)
end

local entry = stored_entry:match('^edited:(.+)') or stored_entry
local found = redis.call('XRANGE', KEYS[2], entry, entry)
if not found[1] then
  return { 'too late', '', 0 }
end
-- An edit must not turn a message into a command, or a command into a message: commands may have a lane of their own.
if ARGV[5] ~= '' or field(found[1][2], 'cancels') or field(found[1][2], 'chat') ~= ARGV[2] then
  return { 'command', '', 0 }
end
local turn = ARGV[9] .. entry
for _, mark in ipairs(redis.call('HMGET', turn, 'fence', 'conclusion', 'mergedInto', 'cancelled')) do
  if mark then
    return { 'too late', '', 0 }
  end
end
local last_edit = redis.call('HMGET', turn, 'edited', 'editedBy')
if tonumber(last_edit[2] or 0) > tonumber(ARGV[10]) then
  return { 'too late', '', 0 }
end
if is_same(last_edit[1] or field(found[1][2], 'message') or '', ARGV[3]) then
  return { 'unchanged', '', 0 }
end
redis.call('HSET', turn, 'edited', ARGV[3], 'editedBy', ARGV[10])
return { 'replaced', '', 0 }
