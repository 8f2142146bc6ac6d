import type { Language } from './language.ts';

/** A person who writes Traditional Chinese. Four of the twenty questions use other words than what was said. */
export const CHINESE: Language = {
  name: 'Chinese',
  topics: [
    { noun: '牙醫', kind: 'person', asks: '我的牙醫是誰?' },
    { noun: '房東', kind: 'person', asks: '我的房東是誰?' },
    { noun: '鋼琴老師', kind: 'person', asks: '我的鋼琴老師叫什麼名字?' },
    { noun: '主管', kind: 'person', asks: '我的老闆是誰?' },
    { noun: '最愛的咖啡館', kind: 'place', asks: '我最愛的咖啡館在哪裡?' },
    { noun: '健身房', kind: 'place', asks: '我的健身房在哪裡?' },
    { noun: '辦公室', kind: 'place', asks: '我在哪條路上班?' },
    { noun: '修車廠', kind: 'place', asks: '我的修車廠在哪裡?' },
    { noun: '置物櫃號碼', kind: 'number', asks: '我的置物櫃號碼是多少?' },
    { noun: '借書證', kind: 'number', asks: '我的借書證是幾號?' },
    { noun: '公車路線', kind: 'number', asks: '我搭哪一班車?' },
    { noun: '火車座位', kind: 'number', asks: '我的火車座位是幾號?' },
    { noun: '平常的早餐', kind: 'food', asks: '我平常的早餐是什麼?' },
    { noun: '最喜歡的甜點', kind: 'food', asks: '我最喜歡的甜點是什麼?' },
    { noun: '午餐', kind: 'food', asks: '我中午吃什麼?' },
    { noun: '爬山的點心', kind: 'food', asks: '我爬山的點心帶什麼?' },
    { noun: '貓', kind: 'name', asks: '我的貓叫什麼?' },
    { noun: '小船', kind: 'name', asks: '我的小船叫什麼名字?' },
    { noun: '掃地機器人', kind: 'name', asks: '我的掃地機器人叫什麼?' },
    { noun: '酵母', kind: 'name', asks: '我幫酵母取了什麼名字?' },
  ],
  others:
    '花園,腳踏車,雨傘,廣播劇,雨衣,書架,桌遊,小提琴,相機,帳篷,檯燈,筆記本,堆肥,烤箱,地毯,陽台,望遠鏡,縫紉機,大衣,拼圖'.split(
      ',',
    ),
  values: {
    person:
      '陳柏宇,林怡君,黃志豪,張雅婷,李承翰,王淑芬,吳宗憲,劉佩珊,蔡明哲,楊心怡,許家瑋,鄭惠文,謝東霖,郭美玲,洪俊傑,邱詩涵'.split(
        ',',
      ),
    place:
      '松江路,永康街,中山北路,青島東路,光復南路,民生東路,溫州街,迪化街,赤峰街,安和路,金山南路,羅斯福路,雙城街,遼寧街,臨沂街,延平北路'.split(
        ',',
      ),
    number: '4071,5832,6194,7265,8316,9427,3548,4639,5714,6825,7936,8047,9158,3269,4371,5482'.split(','),
    food: '蔥抓餅,芋頭粥,鹹豆漿,杏仁豆腐,牛肉麵,蘿蔔糕,蚵仔煎,鳳梨酥,紅豆湯,花生糖,滷肉飯,燒仙草,韭菜盒,核桃糕,地瓜球,綠豆椪'.split(
      ',',
    ),
    name: '布丁,彗星,骨牌,芝麻,齒輪,榛果,杜松,茶壺,麻糬,雲朵,泡菜,星塵,雷鳴,彈簧,豆花,微風'.split(','),
  },
  happenings: [
    { told: '我拔了智齒', asks: '我是什麼時候拔智齒的?', words: '智齒' },
    { told: '我考過了駕照', asks: '我是哪一天考過駕照的?', words: '駕照' },
    { told: '洗衣機壞了', asks: '洗衣機是什麼時候壞的?', words: '洗衣機' },
    { told: '我簽了租約', asks: '我什麼時候簽了租約?', words: '租約' },
    { told: '我拿到新護照', asks: '我是哪一天拿到護照的?', words: '護照' },
    { told: '我們種了蘋果樹', asks: '我們什麼時候種了蘋果樹?', words: '蘋果樹' },
    { told: '我跑完第一次馬拉松', asks: '我什麼時候跑了馬拉松?', words: '馬拉松' },
    { told: '阿姨訂婚了', asks: '阿姨是哪一天訂婚的?', words: '阿姨' },
  ],
  tells: (noun, value) => `我的${noun}是${value}。`,
  tellsAnew: (noun, value) => `從這週起,我的${noun}換成${value}了。`,
  tellsOfAnother: (noun, value) => `我哥哥說他的${noun}是${value}。`,
  tellsOfToday: (told) => `今天${told}。`,
  plea: '請記住這件事。',
  notes: (noun, value) => `${noun}:${value}`,
  notesDay: (day, told) => `${day}:${told}`,
  openings: [
    '整個早上都在下雨,幾乎什麼事都沒做成。',
    '昨晚沒睡好,還好有咖啡。',
    '列車又誤點了,大家都很不高興。',
    '謝謝你昨天的幫忙,很有用。',
    '趁我還沒忘,先說一件關於我的事。',
    '我從起床就一直在整理房間。',
  ],
  musings: [
    (noun) => `我在想,以前的人還沒有${noun}的時候都怎麼過日子?可以跟我說說這方面的歷史嗎?`,
    (noun) => `我讀到一篇談${noun}這個詞從哪裡來的文章,覺得寫得太長,內容卻不多。`,
    (noun) => `廣播裡有人在談好的${noun}需要什麼條件,我有一半都不同意。`,
    (noun) => `幫我替社團寫一段短文:用三句話說明怎麼挑選${noun},語氣親切、簡單就好。`,
    (noun) => `一直想著我的${noun}正常嗎?我想了整個下午,該做的事都沒做。`,
  ],
  answers: [
    '聽起來是很充實的一天。如果你願意,我們可以先看最困擾你的部分,再一步一步往下談。',
    '簡單說:不要弄得太複雜,問兩個你信任的人,睡一晚再決定。要不要我寫長一點的版本?',
    '這件事可以說的很多。簡而言之,大部分的文章都在重複同樣的話,較早的資料反而比較好。',
    '好的,我會放在心上,你隨時可以糾正我。接下來想做什麼呢?',
    '問得好。看法各有不同,不過一般的建議是從小處開始,觀察結果,一次只改一件事。',
  ],
};
