import { type Language, listed } from './language.ts';

/** A person who writes English. Four of the twenty questions use other words than what was said. */
export const ENGLISH: Language = {
  name: 'English',
  topics: [
    { noun: 'dentist', kind: 'person', asks: 'Who is my dentist?' },
    { noun: 'landlord', kind: 'person', asks: 'Who is my landlord?' },
    { noun: 'piano teacher', kind: 'person', asks: 'What is the name of my piano teacher?' },
    { noun: 'manager', kind: 'person', asks: 'Who is my boss at work?' },
    { noun: 'favourite café', kind: 'place', asks: 'Which is my favourite café?' },
    { noun: 'gym', kind: 'place', asks: 'Where is my gym?' },
    { noun: 'office', kind: 'place', asks: 'In which street do I work?' },
    { noun: 'garage', kind: 'place', asks: 'Which garage is mine?' },
    { noun: 'locker number', kind: 'number', asks: 'What is my locker number?' },
    { noun: 'library card', kind: 'number', asks: 'What is the number of my library card?' },
    { noun: 'bus line', kind: 'number', asks: 'Which bus do I take?' },
    { noun: 'seat on the train', kind: 'number', asks: 'Which seat on the train is mine?' },
    { noun: 'usual breakfast', kind: 'food', asks: 'What is my usual breakfast?' },
    { noun: 'favourite dessert', kind: 'food', asks: 'What is my favourite dessert?' },
    { noun: 'lunch order', kind: 'food', asks: 'What do I get at noon?' },
    { noun: 'snack for long walks', kind: 'food', asks: 'Which snack do I take on long walks?' },
    { noun: 'cat', kind: 'name', asks: 'What is my cat called?' },
    { noun: 'boat', kind: 'name', asks: 'What is the name of my boat?' },
    { noun: 'robot vacuum', kind: 'name', asks: 'What did I name the robot vacuum?' },
    { noun: 'sourdough starter', kind: 'name', asks: 'What do I call my sourdough starter?' },
  ],
  others: listed(
    'garden,bicycle,umbrella,radio play,raincoat,kitchen shelf,board game,violin,camera,tent,lamp,notebook,compost heap,teapot,carpet,balcony,telescope,sewing machine,winter coat,jigsaw',
  ),
  values: {
    person: listed(
      'Ada Merrow,Bruno Falk,Carla Whitby,Denis Okoro,Elsa Tarn,Felix Arden,Greta Lund,Hugo Pell,Ines Calder,Jonas Reed,Kira Holt,Leo Vance,Mina Sorrel,Nils Adair,Olga Penrose,Pablo Quill',
    ),
    place: listed(
      'Larch Street,Mill Lane,Harbour Row,Foundry Square,Quarry Hill,Saddler Court,Wharf Road,Abbey Gate,Lantern Alley,Cooper Yard,Heron Bridge,Orchard End,Tinker Street,Castle Walk,Ferry Steps,Beacon Rise',
    ),
    number: listed('4071,5832,6194,7265,8316,9427,3548,4639,5714,6825,7936,8047,9158,3269,4371,5482'),
    food: listed(
      'rye toast,plum porridge,lentil soup,almond cake,fig salad,cheese dumplings,barley risotto,pear tart,pumpkin curry,oat biscuits,bean stew,rhubarb crumble,leek quiche,walnut bread,millet pancakes,apricot rolls',
    ),
    name: listed(
      'Biscuit,Comet,Domino,Falstaff,Gizmo,Hazelnut,Juniper,Kettle,Marzipan,Nimbus,Pickle,Quasar,Rumble,Sprocket,Tofu,Zephyr',
    ),
  },
  happenings: [
    { told: 'my wisdom tooth was pulled', asks: 'When was my wisdom tooth pulled?', words: 'wisdom tooth' },
    { told: 'I passed the driving test', asks: 'When did I pass the driving test?', words: 'driving test' },
    { told: 'the washing machine broke', asks: 'When did the washing machine break?', words: 'washing machine' },
    { told: 'I signed the lease', asks: 'When did I sign the lease?', words: 'lease' },
    { told: 'my passport arrived', asks: 'When did I get my passport?', words: 'passport' },
    { told: 'we planted the apple tree', asks: 'When did we plant the apple tree?', words: 'apple tree' },
    { told: 'I ran my first marathon', asks: 'When did I run the marathon?', words: 'marathon' },
    { told: 'my aunt got engaged', asks: 'When did my aunt get engaged?', words: 'aunt' },
  ],
  tells: (noun, value) => `My ${noun} is ${value}.`,
  tellsAnew: (noun, value) => `Since this week my ${noun} is ${value}.`,
  tellsOfAnother: (noun, value) => `My brother says that his ${noun} is ${value}.`,
  tellsOfToday: (told) => `Today ${told}.`,
  plea: 'Please remember that.',
  notes: (noun, value) => `${noun}: ${value}`,
  notesDay: (day, told) => `${day}: ${told}`,
  openings: [
    'It rained the whole morning and I hardly got anything done.',
    'I slept badly, but the coffee helps a little.',
    'The trains were late again and everybody was cross.',
    'Thanks for yesterday, that was useful.',
    'Before I forget, one thing about me.',
    'I have been tidying up since I woke.',
  ],
  musings: [
    (noun) =>
      `I wonder what people did before anybody had a ${noun}; can you tell me something about the history of it?`,
    (noun) =>
      `I read an article about the word ${noun} and where it comes from, and found it rather long for what it said.`,
    (noun) => `Somebody on the radio talked about what a good ${noun} needs, and I could not agree with half of it.`,
    (noun) =>
      `Help me to write a short text for the club: three sentences on how to choose a ${noun}, friendly and plain.`,
    (noun) => `Is it normal to think so much about my ${noun}? I did all afternoon, in place of what I had to do.`,
  ],
  answers: [
    'That sounds like a full day. If you like, we can look at the part that bothers you most and take it from there, one step after the other.',
    'Here is a short version: keep it simple, ask two people whom you trust, and decide after a night of sleep. Would you like a longer one?',
    'There is a good deal to say about it. In short, most of what is written repeats itself, and the older sources are the better ones.',
    'Noted. I will keep it in mind, and you can correct me at any time. What would you like to do next?',
    'A fair question. Opinions differ, but the usual advice is to begin small, to watch what happens, and to change one thing at a time.',
  ],
};
