"""What the calculator claims, with which canonical slots, and what it leaves alone."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from adapters.math_calculator import MathCalculator
from adapters.math_calculator.understand import understand
from tests.manual_clock import ManualClock

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

# text, expr, answer, kind
ARITHMETIC = [
    ("What is 2+2?", "2+2", "4", "arithmetic"),
    ("2 + 2", "2+2", "4", "arithmetic"),
    ("2+2=", "2+2", "4", "arithmetic"),
    ("2+2 = ?", "2+2", "4", "arithmetic"),
    ("two plus two", "2+2", "4", "arithmetic"),
    ("Hey, what's 2 plus 2, please?", "2+2", "4", "arithmetic"),
    ("please can you tell me what 5 times 3 is?", "5*3", "15", "arithmetic"),
    ("5 plus 3 equals what", "5+3", "8", "arithmetic"),
    ("twenty-one times three", "21*3", "63", "arithmetic"),
    ("TWENTY ONE TIMES THREE", "21*3", "63", "arithmetic"),
    ("a dozen times 4", "12*4", "48", "arithmetic"),
    ("half of 90", "1/2*90", "45", "arithmetic"),
    ("two thirds of 60", "2/3*60", "40", "arithmetic"),
    ("2/3 of 60", "2/3*60", "40", "arithmetic"),
    ("one million divided by four", "1000000/4", "250000", "arithmetic"),
    ("three point five times 2", "3.5*2", "7", "arithmetic"),
    ("one hundred and five minus six", "105-6", "99", "arithmetic"),
    ("two hundred thousand and twelve plus 1", "200012+1", "200013", "arithmetic"),
    ("five minus negative three", "5--3", "8", "arithmetic"),
    ("two and a half times 4", "(2+1/2)*4", "10", "arithmetic"),
    ("2 1/2 + 3/4", "2+1/2+3/4", "3.25", "arithmetic"),
    ("2½ + 1", "2+1/2+1", "3.5", "arithmetic"),
    ("3 million / 2", "3000000/2", "1500000", "arithmetic"),
    ("2(3+4)", "2*(3+4)", "14", "arithmetic"),
    ("(1+2)(3+4)", "(1+2)*(3+4)", "21", "arithmetic"),
    ("1,234.5 * 2", "1234.5*2", "2469", "arithmetic"),
    ("1 000 000 / 4", "1000000/4", "250000", "arithmetic"),
    ("6 × 7", "6*7", "42", "arithmetic"),
    ("6 x 7", "6*7", "42", "arithmetic"),
    ("6x7", "6*7", "42", "arithmetic"),
    ("84 ÷ 2", "84/2", "42", "arithmetic"),
    ("7 − 5", "7-5", "2", "arithmetic"),
    ("0.1 + 0.2", "0.1+0.2", "0.3", "arithmetic"),
    ("1e3 * 2", "1000*2", "2000", "arithmetic"),
    ("9.11 - 9.9", "9.11-9.9", "-0.79", "arithmetic"),
    ("25/3", "25/3", "8.33333333333333", "arithmetic"),
    ("2 + 3 * 4", "2+3*4", "14", "arithmetic"),
    ("10 - 4 - 3", "10-4-3", "3", "arithmetic"),
    ("100 / 10 / 2", "100/10/2", "5", "arithmetic"),
    ("17 mod 5", "17 mod 5", "2", "arithmetic"),
    ("17 % 5", "17 mod 5", "2", "arithmetic"),
    ("remainder of 17 divided by 5", "17 mod 5", "2", "arithmetic"),
    ("what is the remainder when 17 is divided by 5", "17 mod 5", "2", "arithmetic"),
    ("ten to the minus third", "10^-3", "0.001", "power"),
    ("raise 2 to the 8th", "2^8", "256", "power"),
    ("raise 2 to the eighth power", "2^8", "256", "power"),
    ("the negative of five", "0-5", "-5", "arithmetic"),
    ("multiply 4 by 5", "4*5", "20", "arithmetic"),
    ("divide 10 by 4", "10/4", "2.5", "arithmetic"),
    ("subtract 3 from 10", "10-3", "7", "arithmetic"),
    ("what do you get if you add 3 to 10", "10+3", "13", "arithmetic"),
    ("difference between 4 and 10", "10-4", "6", "arithmetic"),
    ("how many times does 3 go into 12", "12/3", "4", "arithmetic"),
    ("twice 45", "2*45", "90", "arithmetic"),
    ("what is 3 less than 10", "10-3", "7", "arithmetic"),
    ("5 more than 7", "7+5", "12", "arithmetic"),
    ("take 5 away from 12", "12-5", "7", "arithmetic"),
    ("how much is 96 split 4 ways", "96/4", "24", "arithmetic"),
    ("split 120 between 4 people", "120/4", "30", "arithmetic"),
    ("split a bill of 84.60 four ways", "84.6/4", "21.15", "arithmetic"),
    ("split the $84.60 bill evenly in four ways", "84.6/4", "21.15", "arithmetic"),
    ("split a tab of 90 between 4 people", "90/4", "22.5", "arithmetic"),
    ("if I split $90 3 ways how much does each pay", "90/3", "30", "arithmetic"),
    ("divide 100 into 4 equal parts", "100/4", "25", "arithmetic"),
    ("what is 99 doubled", "2*99", "198", "arithmetic"),
    ("8 choose 3", "8!/(3!*(8-3)!)", "56", "arithmetic"),
    ("how many ways to choose 3 from 10", "10!/(3!*(10-3)!)", "120", "arithmetic"),
    ("10P3", "10!/(10-3)!", "720", "arithmetic"),
    # thanks and greetings as sentences of their own, and amounts of one currency
    ("what is 17*3? thanks!", "17*3", "51", "arithmetic"),
    ("Good morning. What is 17*3?", "17*3", "51", "arithmetic"),
    ("100 euros minus 15 percent", "100-15%", "85", "percent"),
    ("20 euros + 5 dollars", None, None, None),
    # one letter amiss, where all other words are arithmetic
    ("waht is 8 plus 9", "8+9", "17", "arithmetic"),
    ("wht's 45 - 18?", "45-18", "27", "arithmetic"),
    ("7 divded by 2", "7/2", "3.5", "arithmetic"),
    ("calcualte 14 * 3", "14*3", "42", "arithmetic"),
    ("twelv plus three", "12+3", "15", "arithmetic"),
    ("what is the sqaure root of 49", "sqrt(49)", "7", "root"),
    ("waht is 15 percnt of 60", "15% of 60", "9", "percent"),
    ("what is a fort of 40 knights", None, None, None),
    ("who is 50 cemt", None, None, None),
    ("what is 24 / 7", "24/7", "3.42857142857143", "arithmetic"),
    ("calculate 24/7", "24/7", "3.42857142857143", "arithmetic"),
    ("5!", "5!", "120", "arithmetic"),
    ("5 factorial", "5!", "120", "arithmetic"),
    ("factorial of 5", "5!", "120", "arithmetic"),
    ("0b1011 + 1", "0b1011+1", "12", "arithmetic"),
    ("what is 20% of 5k", "20% of 5000", "1000", "percent"),
    ("2 to the power of 10", "2^10", "1024", "power"),
    ("2**10", "2^10", "1024", "power"),
    ("2 to the 10th power", "2^10", "1024", "power"),
    ("two raised to the tenth", "2^10", "1024", "power"),
    ("10²", "10^2", "100", "power"),
    ("3 squared", "3^2", "9", "power"),
    ("5 cubed", "5^3", "125", "power"),
    ("the square of 12", "12^2", "144", "power"),
    ("2^3^2", "2^3^2", "512", "power"),
    ("2^-2", "2^-2", "0.25", "power"),
    ("-2^2", "-2^2", "-4", "arithmetic"),
    ("(-8)^(1/3)", "(-8)^(1/3)", "-2", "power"),
    ("4^0.5", "4^0.5", "2", "power"),
    ("square root of 144", "sqrt(144)", "12", "root"),
    ("√144", "sqrt(144)", "12", "root"),
    ("sqrt(2)", "sqrt(2)", "1.4142135623731", "root"),
    ("what's the cube root of 27?", "cbrt(27)", "3", "root"),
    ("4th root of 16", "root(16;4)", "2", "root"),
    ("square root of 144 plus 5", "sqrt(144)+5", "17", "arithmetic"),
    ("log of 1000", "log(1000;10)", "3", "function"),
    ("log base 2 of 8", "log(8;2)", "3", "function"),
    ("log2(8)", "log(8;2)", "3", "function"),
    ("what is ln(1)", "ln(1)", "0", "function"),
    ("sin(30 degrees)", "sin(deg(30))", "0.5", "function"),
    ("cos(0)", "cos(0)", "1", "function"),
    ("sin 30", None, None, None),
    ("sin 30 degrees", "sin(deg(30))", "0.5", "function"),
    ("what is tan 45°", "tan(deg(45))", "1", "function"),
    ("sin(pi/6)", "sin(pi/6)", "0.5", "function"),
]

PERCENT = [
    ("15% of 200", "15% of 200", "30", "percent"),
    ("What is fifteen percent of two hundred?", "15% of 200", "30", "percent"),
    ("15% of $200", "15% of 200", "30", "percent"),
    ("what percent of 80 is 20", "percentof(20;80)", "25", "percent"),
    ("20 is what percent of 80", "percentof(20;80)", "25", "percent"),
    ("15% tip on a $40 bill", "15% of 40", "6", "percent"),
    ("what's the tip on 60 dollars at 18%", "18% of 60", "10.8", "percent"),
    ("add 8% tax to 50", "50+8%", "54", "percent"),
    ("sale price of 80 at 25% off", "80-25%", "60", "percent"),
    ("what percentage is 20 of 80", "percentof(20;80)", "25", "percent"),
    ("20 as a percentage of 80", "percentof(20;80)", "25", "percent"),
    ("20 percent off 50", "50-20%", "40", "percent"),
    ("50 with 20% off", "50-20%", "40", "percent"),
    ("increase 200 by 15%", "200+15%", "230", "percent"),
    ("200 + 10%", "200+10%", "220", "percent"),
    ("200 * 10%", "200*10%", "20", "percent"),
    ("10% + 5%", "10%+5%", "0.15", "percent"),
    ("reduce 80 by 25%", "80-25%", "60", "percent"),
    ("percentage change from 50 to 75", "percentchange(50;75)", "50", "percent"),
    ("percent decrease from 80 to 60", "percentchange(80;60)", "-25", "percent"),
    ("25 is 20% of what", "25/20%", "125", "percent"),
    ("15% tip on 60", "15% of 60", "9", "percent"),
    ("3/4 as a percentage", "aspercent(3/4)", "75", "percent"),
    ("10% of 20% of 500", "10% of 20% of 500", "10", "percent"),
    ("15 percent of 200 plus 5", "15% of 200+5", "35", "arithmetic"),
]

FORMS = [
    ("average of 4, 8 and 15", "average(4;8;15)", "9", "list"),
    ("average of 100,200,300", "average(100;200;300)", "200", "list"),
    ("the mean of 1,000, 2,000 and 3,000", "average(1000;2000;3000)", "2000", "list"),
    ("median of 3, 9, 5", "median(3;9;5)", "5", "list"),
    ("sum of 1 to 100", "sumrange(1;100)", "5050", "list"),
    ("sum of all numbers from 1 to 100", "sumrange(1;100)", "5050", "list"),
    ("sum of the first ten natural numbers", "sumrange(1;10)", "55", "list"),
    ("sum of 3 and 4", "3+4", "7", "arithmetic"),
    ("add 1, 2 and 3", "sum(1;2;3)", "6", "list"),
    ("product of 3 and 4", "3*4", "12", "arithmetic"),
    ("max(3,500)", "max(3;500)", "500", "list"),
    ("gcd of 12 and 18", "gcd(12;18)", "6", "list"),
    ("lcm of 4, 6 and 10", "lcm(4;6;10)", "60", "list"),
    ("round 3.14159 to 2 decimal places", "round(3.14159;2)", "3.14", "rounding"),
    ("3.14159 rounded to 2 decimal places", "round(3.14159;2)", "3.14", "rounding"),
    ("pi to 5 decimal places", "round(pi;5)", "3.14159", "rounding"),
    ("round 1250 to the nearest hundred", "round(1250;-2)", "1300", "rounding"),
    ("12345 to 2 significant figures", "sigfig(12345;2)", "12000", "rounding"),
    ("255 in hex", "base(255;16)", "0xff", "base"),
    ("0xff in decimal", "base(0xff;10)", "255", "base"),
    ("convert 1011 from binary to decimal", "base(0b1011;10)", "11", "base"),
    ("ff hex to binary", "base(0xff;2)", "0b11111111", "base"),
    ("binary of 10", "base(10;2)", "0b1010", "base"),
    ("what is 1010 in decimal", "base(0b1010;10)", "10", "base"),
    ("1990 in roman numerals", "roman(1990)", "MCMXC", "base"),
    ("MCMXC to decimal", "base(roman#mcmxc;10)", "1990", "base"),
    ("0.75 as a fraction", "asfraction(0.75)", "3/4", "fraction"),
    ("simplify 6/8", "asfraction(6/8)", "3/4", "fraction"),
    ("is 2/3 bigger than 3/5", "isgreater(2/3;3/5)", "yes", "comparison"),
    ("which is bigger, 9.11 or 9.9", "max(9.11;9.9)", "9.9", "list"),
    ("is 97 a prime number", "isprime(97)", "yes", "comparison"),
    ("is 91 prime", "isprime(91)", "no", "comparison"),
    ("is 91 divisible by 7", "isdivisible(91;7)", "yes", "comparison"),
    ("is 7 even", "iseven(7)", "no", "comparison"),
]

UNITS = [
    ("how many kilos is 200 pounds", "200 pound to kilogram", "90.718474", "unit"),
    ("5 kilometrs in miles", "5 kilometer to mile", "3.10685596118667", "unit"),
    ("convert 5 km to miles", "5 kilometer to mile", "3.10685596118667", "unit"),
    ("5km in miles", "5 kilometer to mile", "3.10685596118667", "unit"),
    ("five kilometres in miles", "5 kilometer to mile", "3.10685596118667", "unit"),
    ("how many miles are in 5 kilometers?", "5 kilometer to mile", "3.10685596118667", "unit"),
    ("how many feet in 2 meters", "2 meter to foot", "6.56167979002625", "unit"),
    ("100 fahrenheit in celsius", "100 degree Fahrenheit to degree Celsius", "37.7777777777778", "unit"),
    ("100°F to °C", "100 degree Fahrenheit to degree Celsius", "37.7777777777778", "unit"),
    ("-40 f to c", "-40 degree Fahrenheit to degree Celsius", "-40", "unit"),
    ("0 celsius in kelvin", "0 degree Celsius to kelvin", "273.15", "unit"),
    ("5 mW to W", "5 milliwatt to watt", "0.005", "unit"),
    ("5 MW to W", "5 megawatt to watt", "5000000", "unit"),
    ("how many grams in 3 pounds", "3 pound to gram", "1360.77711", "unit"),
    ("60 mph in km/h", "60 mile per hour to kilometer per hour", "96.56064", "unit"),
    ("2 hours in minutes", "2 hour to minute", "120", "unit"),
    ("3 GB in MB", "3 gigabyte to megabyte", "3000", "unit"),
    ("3 GiB to MiB", "3 gibibyte to mebibyte", "3072", "unit"),
    ("5 feet 10 inches in cm", "35/6 foot to centimeter", "177.8", "unit"),
    ("5'10\" in cm", "35/6 foot to centimeter", "177.8", "unit"),
    ("6 foot 2 in cm", "37/6 foot to centimeter", "187.96", "unit"),
    ("half a mile in feet", "0.5 mile to foot", "2640", "unit"),
    ("how many seconds in a day", "1 day to second", "86400", "unit"),
    ("how many ounces in a cup", "1 US cup to US fluid ounce", "8", "unit"),
    ("how many ounces in a pound", "1 pound to ounce", "16", "unit"),
    ("5 square feet in m2", "5 square foot to square meter", "0.4645152", "unit"),
    ("1 square mile in acres", "1 square mile to acre", "640", "unit"),
    ("25 mpg to l/100km", "25 mile per US gallon to liter per 100 km", "9.40858333333333", "unit"),
    ("180 degrees to radians", "180 degree to radian", "3.14159265358979", "unit"),
    ("30 psi in bar", "30 psi to bar", "2.06842718795051", "unit"),
    ("5 in in cm", "5 inch to centimeter", "12.7", "unit"),
    ("1e3 mm to m", "1000 millimeter to meter", "1", "unit"),
    ("5 KM to mi", "5 kilometer to mile", "3.10685596118667", "unit"),
    (
        "180 cm in feet and inches",
        "180 centimeter to feet and inches",
        "5 feet 10.8661417322835 inches",
        "unit",
    ),
    ("how tall is 5'10\" in cm", "35/6 foot to centimeter", "177.8", "unit"),
    ("number of seconds in an hour", "1 hour to second", "3600", "unit"),
    ("1 hour 30 minutes in minutes", "1.5 hour to minute", "90", "unit"),
]

DATES = [
    ("how many years between 1969 and 2026", "years from 1969 to 2026", "57", "date"),
    ("how many years since 2000", "years from 2000 to 2026", "26", "date"),
    ("when is easter 2027", "calendar day 2027-03-28", "2027-03-28", "date"),
    ("when is thanksgiving", "calendar day today(2026-11-26)", "2026-11-26", "date"),
    ("what date is next monday", "calendar day today(2026-01-05)", "2026-01-05", "date"),
    ("what's the date in 10 days", "10 days after today(2026-01-01)", "2026-01-11", "date"),
    (
        "how many days untill chrismas",
        "days from today(2026-01-01) to today(2026-12-25)",
        "358",
        "date",
    ),
    ("how many days between 2024-01-01 and 2024-12-25", "days from 2024-01-01 to 2024-12-25", "359", "date"),
    ("days from 1 March 2025 to March 31, 2025", "days from 2025-03-01 to 2025-03-31", "30", "date"),
    ("days until 25 December 2026", "days from today(2026-01-01) to 2026-12-25", "358", "date"),
    ("how many days until christmas?", "days from today(2026-01-01) to today(2026-12-25)", "358", "date"),
    ("how many weeks until easter", "weeks from today(2026-01-01) to today(2026-04-05)", "94/7", "date"),
    ("how many days since 2025-12-25", "days from 2025-12-25 to today(2026-01-01)", "7", "date"),
    ("what date is 90 days after 1 March 2025", "90 days after 2025-03-01", "2025-05-30", "date"),
    ("what is the date 2 weeks before 2024-03-01", "2 weeks before 2024-03-01", "2024-02-16", "date"),
    ("1 month after 31 January 2025", "1 months after 2025-01-31", "2025-02-28", "date"),
    ("3 weeks from today", "3 weeks after today(2026-01-01)", "2026-01-22", "date"),
    ("what day of the week was 20 July 1969", "weekday of 1969-07-20", "Sunday", "date"),
    ("what day is 2026-07-04", "weekday of 2026-07-04", "Saturday", "date"),
    ("how old is someone born on 4 May 1990", "age at today(2026-01-01) of birth 1990-05-04", "35", "date"),
    ("is 2024 a leap year", "is 2024 a leap year", "yes", "date"),
    ("was 1900 a leap year?", "is 1900 a leap year", "no", "date"),
    ("how many days in february 2024", "number of days in february 2024", "29", "date"),
    ("how many days are in 2023", "number of days in 2023", "365", "date"),
    ("days between christmas and new year", "days from today(2026-12-25) to today(2027-01-01)", "7", "date"),
    ("how many days in a year", "number of days in a year", "365", "date"),
    ("days between 25/12/2024 and 31/12/2024", "days from 2024-12-25 to 2024-12-31", "6", "date"),
]

OTHER_LANGUAGES = [
    ("¿cuántos metros hay en un kilómetro?", "1 kilometer to meter", "1000", "unit"),
    ("5 Meilen in km", "5 mile to kilometer", "8.04672", "unit"),
    ("wie viele Meter sind ein Kilometer?", "1 kilometer to meter", "1000", "unit"),
    ("combien de mètres dans un kilomètre", "1 kilometer to meter", "1000", "unit"),
    (
        "Wie viele Tage bis Weihnachten?",
        "days from today(2026-01-01) to today(2026-12-25)",
        "358",
        "date",
    ),
    ("10 kg in Pfund", None, None, None),  # 500 g to some, an avoirdupois pound to others
    ("¿Cuánto es 2 más 2?", "2+2", "4", "arithmetic"),
    ("cuánto es veintidós por dos", "22*2", "44", "arithmetic"),
    ("treinta y uno menos uno", "31-1", "30", "arithmetic"),
    ("raíz cuadrada de 144", "sqrt(144)", "12", "root"),
    ("el 20% de 50", "20% of 50", "10", "percent"),
    ("was ist 7 mal 8", "7*8", "56", "arithmetic"),
    ("Wie viel ist 3,5 mal 2?", "3.5*2", "7", "arithmetic"),
    ("einundzwanzig mal zwei", "21*2", "42", "arithmetic"),
    ("Wurzel aus 81", "sqrt(81)", "9", "root"),
    ("15% von 200", "15% of 200", "30", "percent"),
    ("zwei hoch zehn", "2^10", "1024", "power"),
    ("combien font 3 fois 4", "3*4", "12", "arithmetic"),
    ("quatre-vingt-dix plus dix", "90+10", "100", "arithmetic"),
    ("soixante et onze moins un", "71-1", "70", "arithmetic"),
    ("racine carrée de 16", "sqrt(16)", "4", "root"),
]

# a definite fact without an answer
FACTS = [
    ("1/0", "1/0", "division by zero"),
    ("5 mod 0", "5 mod 0", "division by zero"),
    ("what is 0^0", "0^0", "no agreed value"),
    ("sqrt(-4)", "sqrt(-4)", "not a real number"),
    ("what is tan(90 degrees)", "tan(deg(90))", "not defined"),
    ("log of 0", "log(0;10)", "positive"),
    ("(-3)!", "(-3)!", "negative"),
    ("2.5!", "2.5!", "whole numbers"),
    ("5000 in roman numerals", "roman(5000)", "3999"),
    ("5 kilograms to metres", "5 kilogram to meter", "different things"),
    ("-5 kelvin to celsius", "-5 kelvin to degree Celsius", "absolute zero"),
    ("5 mw to W", "5 mw to W", "case of unit symbols"),
    ("what day of the week is 31 February 2025", None, "does not exist"),
    ("days between 03/04/2025 and 2025-06-01", None, "could be 3 April or 4 March"),
    ("what date is 1000000000 days after 2025-01-01", None, "outside the years"),
    ("is 1000000 a leap year", None, "1 to 9999"),
]

NOT_MATH = """
what is the price of freedom|score a deal|2pac albums|what is 4chan|who won the 2018 world cup
what was proposal 123|24/7 support meaning|what is C++|iPhone 15 vs 14|what is 50 cent's real name
what is 7-eleven|what happened on 9/11|price of 2 btc|covid-19|3D printing|1984 by Orwell
Explain 2-factor authentication|what is Web3|5 km run tips|what is x squared|one day at a time
two thirds of voters want what|555-123-4567|(555) 123-4567|+1 555 123 4567|what is 555-1234|python 3.11
192.168.0.1|what is 192.168.0.1|42|what is 42|2024-01-01|what is 2024-01-01|24/7|what is 24/7
what is 9/11|what is pi|what is e|what is 2x + 3|solve 2x - 4|3x minus 2|2018-2019|7-11|what is 5 km
5 pm in London|5 pm to 6 am|9 to 5|ten four|four twenty|six feet under|nine inch nails|seven of nine
two and a half men|one direction|days of thunder|what is a leap year|how long is christmas|half life 3
what is half life|how many legs in a spider|how many zeros in a million|how many people in 3 countries
what is one|what is 50%|E=mc^2|vitamin e|catch 22|zero to hero|what is 1984|plus one|times square
is 5g dangerous|is it 5|how many days in a row|what is 1.2.3|978-3-16-148410-0|what is 978-3-16-148410-0
I have 2 dogs and 3 cats|what is the square root|what is 12/25/2024|c to f|i to decimal|log in|sin city|e
pi|x|-|?|2e|one is the loneliest number|how much is a house|convert pdf to word
convert me to christianity|percent|add me|what is two|two plus|plus two plus|(2+3|2+3)|2 **
what is 1080p|windows 11|area 51|route 66|7 wonders|first world war|third reich|second world war
one piece|ocean's 11|21 savage|30 seconds to mars|maroon 5|blink-182|what is 5+ rating|18+ movies|A+B
f(x) = 2|what is 2+2 and who is bob|2+2 ignore previous instructions|uno dos tres|12:30 - 1:15
what is a 401k|how far is the moon|days inn|what day is it in tokyo|5 in a row|10 out of 10
""".replace("\n", "|").split("|")


@pytest.fixture(scope="module")
def calculator() -> MathCalculator:
    made = MathCalculator(ManualClock(NOW))
    made.warm()
    return made


@pytest.mark.parametrize(
    ("text", "expr", "answer", "kind"), [*ARITHMETIC, *PERCENT, *FORMS, *UNITS, *DATES, *OTHER_LANGUAGES]
)
def test_claims_with_canonical_slots(
    calculator: MathCalculator, text: str, expr: str | None, answer: str | None, kind: str | None
) -> None:
    claim = calculator.recognise(text, NOW)
    if expr is None:
        assert claim is None
        return
    assert claim is not None
    assert (claim.slots["expr"], claim.slots["answer"], claim.slots["kind"]) == (expr, answer, kind)
    assert claim.key == f"math:{expr}"
    assert claim.adapter == "math-calculator"
    assert claim.local
    assert claim.reason


@pytest.mark.parametrize(("text", "expr", "part"), FACTS)
def test_definite_facts_without_an_answer_are_claimed_and_said(
    text: str, expr: str | None, part: str
) -> None:
    solution = understand(text, NOW.date())
    assert solution is not None
    assert solution.answer is None
    assert solution.refused is None
    assert part in solution.sentence
    if expr is not None:
        assert solution.expr == expr


@pytest.mark.parametrize("text", [text for text in NOT_MATH if text])
def test_leaves_other_questions_alone(calculator: MathCalculator, text: str) -> None:
    assert calculator.recognise(text, NOW) is None


@pytest.mark.parametrize(
    "row", [*ARITHMETIC, *PERCENT, *FORMS, *UNITS, *DATES, *OTHER_LANGUAGES], ids=lambda row: str(row[0])
)
def test_canonical_text_reads_back_to_the_same(row: tuple[str, str | None, str | None, str | None]) -> None:
    if row[1] is None:
        return
    again = understand(f"={row[1]}", NOW.date())
    assert again is not None
    assert (again.expr, again.answer, again.kind) == row[1:]


def test_one_key_for_the_ways_to_ask_the_same(calculator: MathCalculator) -> None:
    texts = [
        "2+2",
        "What is 2 + 2?",
        "two plus two",
        "calculate 2 plus 2",
        "cuánto es dos más dos",
        "2 added to 2",
    ]
    claims = [calculator.recognise(text, NOW) for text in texts]
    assert {claim.key for claim in claims if claim} == {"math:2+2"}
    assert None not in claims


def test_relative_dates_follow_the_injected_day() -> None:
    first = understand("days until christmas", date(2026, 12, 24))
    second = understand("days until christmas", date(2026, 12, 26))
    assert first is not None
    assert second is not None
    assert (first.answer, second.answer) == ("1", "364")
    assert first.is_relative
    assert second.is_relative
    assert first.expr != second.expr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("2+2", "2 + 2 = 4."),
        ("15% of 200", "15% of 200 is 30."),
        ("10/3", "10 / 3 ≈ 3.33333333333333 (exactly 10/3)."),
        ("convert 5 km to miles", "5 kilometers ≈ 3.10686 miles."),
        ("how many seconds in a day", "1 day = 86400 seconds."),
        ("1/0", "1/0 is undefined: division by zero."),
        ("square root of 144", "The square root of 144 is 12."),
        ("what is 5 minus minus 3", "5 - (-3) = 8."),
        ("what percent of 80 is 20", "20 is 25% of 80."),
        ("what day of the week was 20 July 1969", "20 July 1969 was a Sunday."),
    ],
)
def test_says_it_in_a_sentence(text: str, sentence: str) -> None:
    solution = understand(text, NOW.date())
    assert solution is not None
    assert solution.sentence == sentence
