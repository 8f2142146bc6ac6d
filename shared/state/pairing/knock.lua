-- Stores the request of a stranger who asks for access, if fewer than ARGV 4 strangers wait. Removes expired and unreadable
-- requests. A repeated update gets the code of its first call, so that a crash of the caller loses no reply. A person whom an
-- operator let in a moment ago gets no code, although the caller's copy of the allow list may lack that person.
-- KEYS  1 strangers   2 allowed
-- ARGV  1 id of the person   2 update id   3 new request, without `atMs` (JSON)   4 how many may wait at a time
--       5 ms after which a request expires   6 ms for which an ignored person stays ignored
-- Reply the code to send to the person, or '' if the person gets no reply
-- include: time
local waiting, now = 0, now_ms()
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local is_json, request = pcall(cjson.decode, fields[i + 1])
  local at = is_json and type(request) == 'table' and tonumber(request.atMs)
  if not at or math.abs(now - at) > tonumber(request.isIgnored and ARGV[6] or ARGV[5]) then
    redis.call('HDEL', KEYS[1], fields[i])
  elseif fields[i] == ARGV[1] then
    return not request.isIgnored and tostring(request.updateId) == ARGV[2] and request.code or ''
  elseif not request.isIgnored then
    waiting = waiting + 1
  end
end
if waiting >= tonumber(ARGV[4]) or redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then
  return ''
end
local request = cjson.decode(ARGV[3])
request.atMs = now
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(request))
return request.code
